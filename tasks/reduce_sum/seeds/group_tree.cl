// group_tree.cl - the shape of a GPU kernel: GROUPS groups of LX items go over x in turns, PER elements
// an item at a time, so that neighbouring items read neighbouring addresses. A tree in local memory joins the
// items of a group, and a second launch of one group joins the groups.

// [EVOLVE_START]
//kf: param GROUPS = 64 in {2, 4, 16, 64, 256}
//kf: param LX = 64 in {8, 16, 32, 64, 128, 256}
//kf: param PER = 8 in {1, 2, 4, 8, 16}
//kf: temp partial f32 [GROUPS]
//kf: launch group_sums global=(GROUPS * LX) local=(LX) args=(x, partial, n)
//kf: launch join_sums global=(LX) local=(LX) args=(partial, total)

#if PER == 1
#define FV float
#define LOAD(i, p) ((p)[i])
#define STORE(v, i, p) ((p)[i] = (v))
#else
#define JOIN_(x, y) x##y
#define JOIN(x, y) JOIN_(x, y)
#define FV JOIN(float, PER)
#define LOAD JOIN(vload, PER)
#define STORE JOIN(vstore, PER)
#endif

// The sum over all items of the group; valid in item 0 only.
float group_total(float mine, __local float *tree) {
  const int lane = get_local_id(0);
  tree[lane] = mine;
  barrier(CLK_LOCAL_MEM_FENCE);
  for (int reach = LX / 2; reach > 0; reach /= 2) {
    if (lane < reach)
      tree[lane] += tree[lane + reach];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  return tree[0];
}

__kernel void group_sums(__global const float *x, __global float *partial, int n) {
  __local float tree[LX];
  const int step = GROUPS * LX * PER;
  const int full = n - n % PER;
  FV part = (FV)(0.0f);
  for (int i = get_global_id(0) * PER; i < full; i += step)
    part += LOAD(0, x + i);
  float each[PER];
  STORE(part, 0, each);
  float sum = 0.0f;
  for (int j = 0; j < PER; j++)
    sum += each[j];
  if (get_global_id(0) < n - full)
    sum += x[full + get_global_id(0)];
  sum = group_total(sum, tree);
  if (get_local_id(0) == 0)
    partial[get_group_id(0)] = sum;
}

__kernel void join_sums(__global const float *partial, __global float *total) {
  __local float tree[LX];
  float sum = 0.0f;
  for (int i = get_local_id(0); i < GROUPS; i += LX)
    sum += partial[i];
  sum = group_total(sum, tree);
  if (get_local_id(0) == 0)
    total[0] = sum;
}
// [EVOLVE_END]
