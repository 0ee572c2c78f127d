// expect: memory=0 algorithm=0 coordination=0 matrix=0
// buffers: x=in y=out
// launch: copy x y -
// evidence: vector_width=1 sweeps=1 launches=1 accumulators=0
__kernel void copy(__global const float *x, __global float *y, int n) {
  int i = get_global_id(0);
  if (i < n) y[i] = x[i];
}
