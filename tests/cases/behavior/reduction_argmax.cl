// expect: memory=0 algorithm=0 coordination=1 matrix=0
// buffers: x=in y=out
// launch: argmax x y -
// evidence: staged_local=0
__kernel void argmax(__global const float *x, __global int *y, int cols) {
  __local float best[128];
  __local int where[128];
  const int lid = get_local_id(0), row = get_group_id(0);
  best[lid] = x[row * cols + lid];
  where[lid] = lid;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int s = 64; s > 0; s >>= 1) {
    if (lid < s && best[lid + s] > best[lid]) {
      best[lid] = best[lid + s];
      where[lid] = where[lid + s];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (lid == 0) y[row] = where[0];
}
