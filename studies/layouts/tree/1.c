struct node { unsigned key; struct node *left, *right; };
#define NODES 512
static struct node nodes[NODES];
int less(unsigned a, unsigned b);
struct node *insert(struct node *root, struct node *one), *find(struct node *root, unsigned key);
unsigned next(unsigned *state);
__attribute__((noinline)) int less(unsigned a, unsigned b) { return a < b; }
