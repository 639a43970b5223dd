"""What is wrong with a file."""


class FileError(ValueError):
    """A file, or bytes, that cannot be read as what they should be.

    A ValueError as all that posenc refuses, so that one `except ValueError` catches everything. The message is one line,
    "FILE:LINE:COLUMN: PATH: expected EXPECTED, got GOT (DETAIL)". What is not known is None or "".

    Attributes:
        kind: "io_open", "json_syntax", "out_of_range", ...: stable names.
        file: The path, or the name given for bytes.
        offset: Bytes from the start of the file.
        line, column: From 1; columns in bytes.
        path: A JSON pointer; a key or a tensor of GGUF.
        expected, got: "a number above 0", "-2".
        detail: The arithmetic that failed, or a hint.
    """

    def __init__(
        self,
        message: str,
        *,
        kind: str = "",
        file: str = "",
        offset: "int | None" = None,
        line: "int | None" = None,
        column: "int | None" = None,
        path: str = "",
        expected: str = "",
        got: str = "",
        detail: str = "",
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.file = file
        self.offset = offset
        self.line = line
        self.column = column
        self.path = path
        self.expected = expected
        self.got = got
        self.detail = detail
