// expect: memory=3 algorithm=0 coordination=3 matrix=0
// options: -DTM=4 -DTN=4
// buffers: a=in b=in c=out panel=temp
// launch: pack b panel - -
// launch: matmul a panel c - -
// evidence: launches=2 joined_launches=1 staged_local=1 register_staging=1 accumulators=16 barrier=0
__kernel void pack(__global const float *b, __global float *panel, int N, int K) {
  const int p = get_global_id(0), k = get_global_id(1);
  for (int j = 0; j < TN; j++) panel[(p * K + k) * TN + j] = p * TN + j < N ? b[k * N + p * TN + j] : 0.0f;
}
void tile(__global const float *a, __global const float *panel, __global float *c, int N, int K) {
  float sum[TM][TN] = {{0}};
  for (int k = 0; k < K; k++) {
    float line[TN];
    for (int j = 0; j < TN; j++) line[j] = panel[k * TN + j];
    for (int i = 0; i < TM; i++)
      for (int j = 0; j < TN; j++) sum[i][j] += a[i * K + k] * line[j];
  }
  for (int i = 0; i < TM; i++)
    for (int j = 0; j < TN; j++) c[i * N + j] = sum[i][j];
}
__kernel void matmul(__global const float *a, __global const float *panel, __global float *c, int N, int K) {
  const int row = get_global_id(0) * TM, p = get_global_id(1);
  tile(a + row * K, panel + p * K * TN, c + row * N + p * TN, N, K);
}
