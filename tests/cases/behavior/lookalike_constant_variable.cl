// expect: memory=0 algorithm=0 coordination=0 matrix=0
// buffers: x=in y=out
// launch: k x y
// Variables that never change are constants too.
__kernel void k(__global const float *x, __global float *y) {
  int use = 0;
  for (int i = 0; i < 3; i++) {
    if (use == 7) barrier(1);
  }
  const int never = sizeof(float) == 8;
  if (never) barrier(1);
  enum { OFF = 0 };
  if (OFF || (1 > 2 && x[0] > 0)) atomic_inc((__global int *)y);
  y[0] = x[0];
}
