// expect: memory=0 algorithm=0 coordination=1 matrix=0
// buffers: x=in y=out
// launch: row_sum x y -
// evidence: staged_local=0 sweeps=1
// Scratch of a reduction is no staging: accumulated before it is stored.
__kernel void row_sum(__global const float *x, __global float *y, int cols) {
  __local float scratch[256];
  const int lid = get_local_id(0), row = get_group_id(0);
  float sum = 0.0f;
  for (int c = lid; c < cols; c += 256) sum += x[row * cols + c];
  scratch[lid] = sum;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int s = 128; s > 0; s >>= 1) {
    if (lid < s) scratch[lid] += scratch[lid + s];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (lid == 0) y[row] = scratch[0];
}
