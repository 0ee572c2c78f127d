// expect: memory=2 algorithm=0 coordination=1 matrix=0
// buffers: q=in kk=in v=in o=out
// launch: k q kk v o -
// evidence: async_or_prefetch=0
// Two tiles, each filled only when the other was used: nothing is fetched ahead.
__kernel void k(__global const float *q, __global const float *kk, __global const float *v, __global float *o,
                int n) {
  __local float tile_k[64], tile_v[64];
  int lid = get_local_id(0);
  float acc = 0, s;
  for (int j = 0; j < n; j += 64) {
    tile_k[lid] = kk[j + lid];
    barrier(CLK_LOCAL_MEM_FENCE);
    s = 0;
    for (int i = 0; i < 64; i++)
      s += q[i] * tile_k[i];
    tile_v[lid] = v[j + lid];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int i = 0; i < 64; i++)
      acc += s * tile_v[i];
  }
  o[lid] = acc;
}
