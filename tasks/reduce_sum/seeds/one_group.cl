// one_group.cl - a single launch of a single group. Each of its LX items adds its stretch of x into NV
// independent vectors of VEC sums, which hides the latency of the additions; a tree in local memory joins
// the items. One group occupies one compute unit.

// [EVOLVE_START]
//kf: param LX = 4 in {1, 2, 4, 8, 16, 32, 64}
//kf: param VEC = 4 in {2, 4, 8, 16}
//kf: param NV = 4 in {1, 2, 4, 8, 16}
//kf: where LX * VEC * NV >= 16
//kf: launch reduce_sum global=(LX) local=(LX) args=(x, total, n)

#define JOIN_(x, y) x##y
#define JOIN(x, y) JOIN_(x, y)
#define FV JOIN(float, VEC)
#define LOAD JOIN(vload, VEC)
#define STORE JOIN(vstore, VEC)

float stretch_sum(__global const float *x, int begin, int end) {
  FV part[NV];
#pragma unroll
  for (int j = 0; j < NV; j++)
    part[j] = (FV)(0.0f);
  int i = begin;
  for (; i < end - (VEC * NV - 1); i += VEC * NV)
#pragma unroll
    for (int j = 0; j < NV; j++)
      part[j] += LOAD(0, x + i + j * VEC);
#pragma unroll
  for (int reach = NV / 2; reach > 0; reach /= 2)
#pragma unroll
    for (int j = 0; j < reach; j++)
      part[j] += part[j + reach];
  float lane[VEC];
  STORE(part[0], 0, lane);
  float sum = 0.0f;
  for (int j = 0; j < VEC; j++)
    sum += lane[j];
  for (; i < end; i++)
    sum += x[i];
  return sum;
}

__kernel void reduce_sum(__global const float *x, __global float *total, int n) {
  __local float tree[LX];
  const int lane = get_local_id(0);
  const int share = (n + LX - 1) / LX;
  tree[lane] = stretch_sum(x, min(lane * share, n), min((lane + 1) * share, n));
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int reach = LX / 2; reach > 0; reach /= 2) {
    if (lane < reach)
      tree[lane] += tree[lane + reach];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (lane == 0)
    total[0] = tree[0];
}
// [EVOLVE_END]
