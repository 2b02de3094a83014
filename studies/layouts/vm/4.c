__attribute__((noinline)) void jump(void) { long to = code[at++]; if (stack[top]) at = (int)to; }
