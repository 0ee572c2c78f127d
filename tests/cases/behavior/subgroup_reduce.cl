// expect: memory=0 algorithm=0 coordination=2 matrix=0
// options: -cl-std=CL3.0
// buffers: x=in y=out
// launch: row_sum x y -
// evidence: subgroup=1 staged_local=0
__kernel void row_sum(__global const float *x, __global float *y, int cols) {
  const int row = get_group_id(0);
  float sum = 0.0f;
  for (int c = get_local_id(0); c < cols; c += get_local_size(0)) sum += x[row * cols + c];
  sum = sub_group_reduce_add(sum);
  if (get_sub_group_local_id() == 0) y[row] = sum;
}
