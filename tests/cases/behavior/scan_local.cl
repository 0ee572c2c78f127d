// expect: memory=0 algorithm=0 coordination=1 matrix=0
// buffers: x=in y=out
// launch: scan x y -
// evidence: staged_local=0
__kernel void scan(__global const float *x, __global float *y, int n) {
  __local float t[256];
  const int lid = get_local_id(0), i = get_global_id(0);
  t[lid] = i < n ? x[i] : 0.0f;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int d = 1; d < 256; d *= 2) {
    const float left = lid >= d ? t[lid - d] : 0.0f;
    barrier(CLK_LOCAL_MEM_FENCE);
    t[lid] += left;
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (i < n) y[i] = t[lid];
}
