"""Programs for NVIDIA's GPUs: the plan of all targets, and kernels for a grid of threads.

    grid_loops        a loop as a kernel that many threads share
    routines          what is no loop: products of matrices, scatters
    target            the target itself
    host_program      the same kernels on the CPU, a loop in place of the grid

Nothing here needs a GPU, nor the CUDA toolkit.
"""
