// expect: memory=0 algorithm=0 coordination=0 matrix=0
// options: -DMODE=2
// buffers: x=in y=out
// launch: k x y
// The parameter chooses the case.
__kernel void k(__global const float *x, __global float *y) {
  switch (MODE) {
  case 1:
    barrier(CLK_LOCAL_MEM_FENCE);
    break;
  case 2:
    y[0] = x[0];
    break;
  default:
    atomic_inc((__global int *)y);
  }
}
