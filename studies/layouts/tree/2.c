__attribute__((noinline)) struct node *insert(struct node *root, struct node *one) {
    if (!root) return one;
    if (less(one->key, root->key)) root->left = insert(root->left, one); else root->right = insert(root->right, one);
    return root;
}
