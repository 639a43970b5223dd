"""Models of the installed transformers, run by their own code and by posenc: do they agree, is a mistake seen?

    python -m posenc.conformance                                      # a row a family; half a minute
    python -m posenc.conformance --family llama --family bloom --json
    python -m posenc.conformance --modes                              # with caches, padding, beams, ...: a minute

It needs torch and transformers. docs/conformance.md says what the columns are.
"""
