// expect: memory=0 algorithm=1 coordination=0 matrix=0
// base: operations=2 sweeps=1
// buffers: x=in b=in y=out
// launch: bias_relu x b y -
// evidence: launches=1
__kernel void bias_relu(__global const float *x, __global const float *b, __global float *y, int cols) {
  const int i = get_global_id(0);
  y[i] = fmax(x[i] + b[i % cols], 0.0f);
}
