"""Runs llama.cpp's HTTP server on loopback, in a separate process that ends with standard input.

    python -m scripts.bench.voice.stock_server MODEL CONTEXT_TOKENS THREADS

Prints the address to standard output when the model is loaded.
"""

import os
import sys


def main(arguments: list[str]) -> None:
    model, context_tokens, threads = arguments
    told = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    import xllamacpp  # imported after native code's standard output was redirected

    parameters = xllamacpp.CommonParams()
    parameters.model.path = model
    parameters.n_ctx = int(context_tokens)
    parameters.n_parallel = 1
    parameters.cpuparams.n_threads = int(threads)
    parameters.cpuparams_batch.n_threads = int(threads)
    parameters.cache_ram_mib = 256
    parameters.hostnames = ["127.0.0.1"]
    parameters.verbosity = -1
    server = xllamacpp.Server(parameters)
    told.write(f"{server.listening_address}\n")
    told.flush()
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1:])
