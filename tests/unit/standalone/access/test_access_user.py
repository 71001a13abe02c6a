import pytest

from ingot.standalone.access.user import NOBODY, User, service_account_name, split_service_account


def test_a_known_user_is_in_the_group_of_all_known() -> None:
    assert User("eve", groups=("devs",)).authenticated().groups == ("devs", "system:authenticated")


@pytest.mark.parametrize(
    "user", [NOBODY, User("eve", groups=("system:authenticated",)), User("eve", groups=("system:unauthenticated",))]
)
def test_groups_that_say_so_already_stay(user: User) -> None:
    assert user.authenticated() == user


def test_user_info_leaves_out_what_is_empty() -> None:
    assert User("eve").info() == {"username": "eve"}
    full = User("eve", "1", ("devs",), {"b": ("2",), "a": ("1",)})
    assert full.info() == {
        "username": "eve",
        "uid": "1",
        "groups": ["devs"],
        "extra": {"a": ["1"], "b": ["2"]},
    }


def test_service_accounts_are_told_by_their_name() -> None:
    assert split_service_account(service_account_name("default", "my.robot")) == ("default", "my.robot")


@pytest.mark.parametrize(
    "name",
    [
        "eve",
        "system:serviceaccount:default",
        "system:serviceaccount:default:a:b",
        "system:serviceaccount:De:robot",
        "system:serviceaccount::robot",
        "system:serviceaccount:default:",
        f"system:serviceaccount:{'n' * 64}:robot",
        f"system:serviceaccount:default:{'n' * 254}",
        "system:serviceaccount:default:robot\n",
    ],
)
def test_other_names_are_no_service_accounts(name: str) -> None:
    assert split_service_account(name) is None
