"""The shape of a draft tree, read off by hand."""

import pytest

from audit.tree import ROOT, Tree, drafts_called


def test_an_uneven_tree_is_read_off_its_parents():
    tree = Tree((ROOT, ROOT, 0, 2, 1), "fixed")
    assert (tree.nodes, tree.depth) == (5, 3)
    assert tree.children(ROOT) == (0, 1)
    assert [tree.children(node) for node in range(5)] == [(2,), (4,), (3,), (), ()]
    assert [tree.path(node) for node in (ROOT, 1, 3)] == [(), (1,), (0, 2, 3)]
    assert [tree.elder(node) for node in range(5)] == [(), (0,), (), (), ()]
    assert [tree.level(node) for node in (ROOT, 0, 4, 3)] == [0, 1, 2, 3]


def test_a_chain_is_a_single_path():
    chain = Tree.chain(3)
    assert chain == Tree((ROOT, 0, 1), "independent")
    assert (chain.depth, chain.path(2)) == (3, (0, 1, 2))


@pytest.mark.parametrize("parents", [(0,), (ROOT, 1), (ROOT, -2), (ROOT, 0, 5)])
def test_a_parent_comes_before_its_child(parents):
    with pytest.raises(ValueError, match=rf"parent {parents[-1]} of node {len(parents) - 1}"):
        Tree(parents, "distinct")


def test_a_tree_has_a_node():
    with pytest.raises(ValueError, match="needs at least one"):
        Tree((), "distinct")


def test_drafts_have_names():
    assert drafts_called(None) == "chains"
    assert drafts_called("fixed") == "trees of fixed siblings"
