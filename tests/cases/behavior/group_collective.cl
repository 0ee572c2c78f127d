// expect: memory=0 algorithm=0 coordination=1 matrix=0
// options: -cl-std=CL2.0
// buffers: x=in y=out
// launch: k x y -
// A reduction of the group is a barrier with a value.
__kernel void k(__global const float *x, __global float *y, int n) {
  float s = 0;
  for (int i = get_local_id(0); i < n; i += get_local_size(0))
    s += x[i];
  s = work_group_reduce_add(s);
  y[0] = s;
}
