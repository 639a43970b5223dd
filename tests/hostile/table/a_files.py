"""A of the checklist: files and reading. What needs a file system is in the tests that are named."""
from config_texts import llama
from recipes import Elsewhere, NotYet, config, gguf
from table.c_gguf import llama as gguf_llama

FILES = "tests/hostile/file_cases_test.cpp"
GGUF_FILES = "tests/hostile/gguf_files_test.cpp"
READ_ALL = "tests/io/read_all_test.cpp"
WHOLE_CONFIG = llama('"rope_scaling": {"type": "linear", "factor": 1.5e3}, "x": ["\\u00e9", true, null]')
WHOLE_GGUF = gguf_llama().key("tokenizer.ggml.tokens", ["a", "bc", ""]).floats("rope_freqs.weight", 8 * [2.0])

IDS = {
    "A1": ["missing, or no permission", Elsewhere(FILES, "A1_MissingOrForbidden")],
    "A2": ["a directory", Elsewhere(FILES, "A2_Directory")],
    "A3": ["FIFO, socket, device", Elsewhere(FILES, "A3_PipeSocketDevice")],
    "A4": ["/proc: size 0, but content", Elsewhere(FILES, "A4_FilesWhoseSizeSaysNothing")],
    "A5": ["empty", config("config", "", "empty", "no bytes")],
    "A6": ["1 to 7 bytes, or any other part of a file",
        config("config", WHOLE_CONFIG, "cut", "empty json_syntax"),
        gguf("gguf", WHOLE_GGUF, "cut", "empty json_syntax truncated count_too_large"),
        gguf("no_version", b"GGUF^", "truncated", "4 bytes for the version, got 0"),
        gguf("no_counts", b"GGUF\3\0\0\0^\0\0", "truncated", "got 2")],
    "A7": ["shorter than announced",
        gguf("half_a_download", gguf_llama().tensor("t", [1 << 20], data=b""),
             "truncated", "the header is whole, the weights are not", at="data")],
    "A8": ["truncated between open and read", Elsewhere(READ_ALL, "AFileThatShrinksIsAnError")],
    "A9": ["a mapped file shrinks", Elsewhere("tests/io/tensor_file_test.cpp", "A9AFileThatShrankIsNotMapped")],
    "A10": ["replaced while read", Elsewhere(FILES, "A10_ReplacedWhileRead")],
    "A11": ["sparse file of 8 TiB", Elsewhere(FILES, "A11_SparseGiant"), Elsewhere(GGUF_FILES, "A11ASparseFile")],
    "A12": ["EINTR, short counts", Elsewhere(READ_ALL, "ShortReadsAndInterruptionsAreRetried")],
    "A13": ["EIO", Elsewhere(FILES, "A13_ReadingFails"), Elsewhere(READ_ALL, "AnErrorSaysWhereAndWhy")],
    "A14": ["symbolic link", Elsewhere(FILES, "A14_LinkToAFile")],
    "A15": ["loop of links", Elsewhere(FILES, "A15_LoopOfLinks")],
    "A16": ["odd paths", Elsewhere(FILES, "A16_NamesThatLie")],
    "A17": ["wrong extension",
        Elsewhere(GGUF_FILES, "A17AreToldByTheirBytes"),
        config("gguf_reversed", b"FUGG\0\0\0\3", "wrong_format", "reversed"),
        config("ggml", b"tjgg\3\0\0\0", "wrong_format", "before GGUF"),
        config("safetensors", b"\2\0\0\0\0\0\0\0{}", "wrong_format", "safetensors"),
        config("npy", b"\x93NUMPY\1\0", "wrong_format", "NumPy")],
    "A18": ["LFS pointer, HTML, gzip, zip, pickle",
        config("lfs", "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n",
               "wrong_format", "Git LFS pointer"),
        config("html", "\n<!DOCTYPE html>\n<html>", "wrong_format", "HTML"),
        config("html_bare", "<HTML><body>", "wrong_format", "HTML"),
        config("xml", '<?xml version="1.0"?><Error/>', "wrong_format", "XML"),
        config("gzip", b"\x1f\x8b\x08\0", "wrong_format", "gzip"),
        config("zip", b"PK\x03\x04\x14\0", "wrong_format", "a zip archive"),
        config("torch_zip", b"PK\x03\x04" + bytes(26) + b"archive/data.pkl", "wrong_format", "PyTorch"),
        config("pickle_2", b"\x80\2}q", "wrong_format", "pickle"),
        config("pickle_4", b"\x80\4\x95", "wrong_format", "pickle"),
        config("xz", b"\xfd7zXZ\0", "wrong_format", "xz"),
        config("zstd", b"\x28\xb5\x2f\xfd", "wrong_format", "Zstandard")],
    "A19": ["output is the input", Elsewhere("tests/io/write_tensor_test.cpp", "A19WhatStandsThereIsReplacedOnlyWhenAskedFor")],
    "A20": ["disk full", Elsewhere("tests/io/write_tensor_test.cpp", "A20AFullDiskLeavesWhatWasThere")],
}
