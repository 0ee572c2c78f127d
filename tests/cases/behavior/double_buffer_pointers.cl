// expect: memory=2 algorithm=0 coordination=1 matrix=0
// buffers: x=in y=out
// launch: k x y
// evidence: async_or_prefetch=1
// Two arrays change roles through pointers: one is filled while the other is read.
__kernel void k(__global const float *x, __global float *y) {
  __local float a[256], b[256];
  __local float *cur = a, *nxt = b;
  int lid = get_local_id(0);
  float s = 0;
  cur[lid] = x[lid];
  for (int t = 0; t < 100; t++) {
    barrier(CLK_LOCAL_MEM_FENCE);
    if (t + 1 < 100) nxt[lid] = x[(t + 1) * 256 + lid];
    for (int j = 0; j < 256; j++)
      s += cur[j];
    __local float *tmp = cur;
    cur = nxt;
    nxt = tmp;
  }
  y[lid] = s;
}
