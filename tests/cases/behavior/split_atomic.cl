// expect: memory=0 algorithm=3 coordination=3 matrix=0
// buffers: x=in y=out
// launch: count x y -
// evidence: split_reduction=1 global_atomic=1
__kernel void count(__global const int *x, __global int *y, int n) {
  int sum = 0;
  for (int i = get_global_id(0); i < n; i += get_global_size(0)) sum += x[i] > 0;
  atomic_add(y, sum);
}
