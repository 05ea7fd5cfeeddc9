from llvmlite import ir as ir
