// expect: memory=0 algorithm=0 coordination=3 matrix=0
// base: operations=2 sweeps=1
// buffers: x=in b=in y=out t=temp
// launch: bias x b t -
// launch: relu t y
// evidence: launches=2 joined_launches=1 staged_local=0
// A temporary with computed values is no packed buffer.
__kernel void bias(__global const float *x, __global const float *b, __global float *t, int cols) {
  const int i = get_global_id(0);
  t[i] = x[i] + b[i % cols];
}
__kernel void relu(__global const float *t, __global float *y) {
  const int i = get_global_id(0);
  y[i] = fmax(t[i], 0.0f);
}
