import itertools

from tag2box.training.views import Views, indexes_of_step


def test_an_epoch_sees_every_photo_once_in_a_new_order() -> None:
    views = Views(images=7, short_sides=(480, 576), mirror=True, seed=3)
    epochs = [[views[i].image for i in range(e * 7, e * 7 + 7)] for e in range(4)]
    assert all(sorted(epoch) == list(range(7)) for epoch in epochs)
    assert len({tuple(epoch) for epoch in epochs}) > 1


def test_a_view_depends_on_seed_and_index_alone() -> None:
    first, again = (Views(images=5, short_sides=(1, 2, 3), mirror=True, seed=1) for _ in range(2))
    assert [first[i] for i in range(40)] == [again[i] for i in reversed(range(40))][::-1]
    other = Views(images=5, short_sides=(1, 2, 3), mirror=True, seed=2)
    assert [other[i] for i in range(40)] != [first[i] for i in range(40)]


def test_sizes_and_mirrors_vary_unless_forbidden() -> None:
    views = Views(images=5, short_sides=(480, 576), mirror=True, seed=0)
    seen = [views[i] for i in range(60)]
    assert {view.short_side for view in seen} == {480, 576}
    assert {view.mirrored for view in seen} == {True, False}
    plain = Views(images=5, short_sides=(480,), mirror=False, seed=0)
    assert not any(plain[i].mirrored for i in range(60))


def test_processes_share_a_step_without_overlap() -> None:
    for processes in (1, 2, 4):
        parts = [list(indexes_of_step(3, 8, rank, processes)) for rank in range(processes)]
        assert all(len(part) == 8 // processes for part in parts)
        assert sorted(itertools.chain(*parts)) == list(range(24, 32))
