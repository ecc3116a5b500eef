"""Programs for NVIDIA's GPUs: the plan of all targets, and kernels for a grid of threads.

Made anywhere:

    target            what a GPU computes, and how it is written
    grid_loops        a loop as a kernel that many threads share
    routines          what is not a loop: products of matrices, scatters
    user_kernels      kernels of users', and their derivatives
    grid_kernels      kernels that numba.cuda.jit made, over grids of users'; grid_compiler,
                      threads_on_host: for a device, and where there is none
    host_loops        what the host repeats
    library_routines  what cuBLAS, cuSOLVER and cuFFT compute
    compiler, cubins  kernels as PTX and as machine code, of device_functions, complex_functions
    host_program      the same kernels on the CPU, a loop in place of the grid

Run on a device:

    device            what programs ask of a GPU; nvidia: over the package cuda.core
    device_sweep      a program in the device's memory: words, graphs, and what stands between
    device_program    calls: workspaces, streams, numbers and status
    libraries         the C functions of the libraries; library_forms: how each is called
    arrays            arrays on a device, of linad's and of other libraries
    device_jacobian   derivatives whose residuals stay there

Nothing here has ever run on a GPU. Its tests have a device that is none.
"""
