// expect: memory=0 algorithm=0 coordination=0 matrix=0
// buffers: x=in y=out
// launch: k x y
// Nothing behind a return or a break is reached.
void f(void) {
  return;
  barrier(CLK_LOCAL_MEM_FENCE);
}
__kernel void k(__global const float *x, __global float *y) {
  f();
  y[0] = x[0];
  for (;;) {
    break;
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  return;
  barrier(CLK_LOCAL_MEM_FENCE);
}
