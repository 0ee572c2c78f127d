// expect: memory=3 algorithm=0 coordination=1 matrix=0
// options: -DWM=4 -DBK=16 -DLX=16
// buffers: a=in b=in c=out
// launch: matmul a b c - - -
// evidence: accumulators=4 register_staging=1
// The next slice is loaded into registers while the present one is used.
__kernel void matmul(__global const float *a, __global const float *b, __global float *c, int M, int N, int K) {
  __local float as[WM * LX][BK], bs[BK][LX];
  const int tx = get_local_id(0), ty = get_local_id(1);
  const int col = get_global_id(0), row0 = get_group_id(1) * WM * LX;
  float sum[WM], next_a[WM], next_b;
  for (int i = 0; i < WM; i++) {
    sum[i] = 0.0f;
    next_a[i] = a[(row0 + i * LX + ty) * K + tx];
  }
  next_b = b[ty * N + col];
  for (int k0 = 0; k0 < K; k0 += BK) {
    for (int i = 0; i < WM; i++) as[i * LX + ty][tx] = next_a[i];
    bs[ty][tx] = next_b;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (k0 + BK < K) {
      for (int i = 0; i < WM; i++) next_a[i] = a[(row0 + i * LX + ty) * K + k0 + BK + tx];
      next_b = b[(k0 + BK + ty) * N + col];
    }
    for (int k = 0; k < BK; k++)
      for (int i = 0; i < WM; i++) sum[i] += as[ty * WM + i][k] * bs[k][tx];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  for (int i = 0; i < WM; i++) c[(row0 + ty * WM + i) * N + col] = sum[i];
}
