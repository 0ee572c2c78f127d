// expect: memory=2 algorithm=0 coordination=1 matrix=0
// buffers: x=in y=out
// launch: sort x y
// Elements change places under a comparison, both ways: the tile is staged, not reduced.
__kernel void sort(__global const float *x, __global float *y) {
  __local float t[256];
  const int lid = get_local_id(0), i = get_global_id(0);
  t[lid] = x[i];
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int k = 2; k <= 256; k <<= 1)
    for (int j = k >> 1; j > 0; j >>= 1) {
      const int other = lid ^ j;
      if (other > lid) {
        const float a = t[lid], b = t[other];
        if ((a > b) == ((lid & k) == 0)) {
          t[lid] = b;
          t[other] = a;
        }
      }
      barrier(CLK_LOCAL_MEM_FENCE);
    }
  y[i] = t[lid];
}
