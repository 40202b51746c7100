"""Fail points act only where they are armed, and only in a sandbox."""

from pathlib import Path

import pytest

from cli.command import ran
from cs.runtime import failpoints

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("relay.between=kill", "there is no point 'relay.between'; there are admission.bef"),
        ("relay.after-publish", "'relay.after-publish' is not like relay.after-publish=kill@3"),
        ("relay.after-publish=sleep", "is not like"),
        ("relay.after-publish=kill@0", "is not like"),
        ("relay.after-publish=kill,", "'' is not like"),
    ],
)
def test_a_setting_that_names_no_point_or_action_is_refused(text: str, message: str) -> None:
    with pytest.raises(failpoints.BadFailPoint) as refused:
        failpoints.parse(text)

    assert message in str(refused.value)


def test_a_live_service_refuses_fail_points(tmp_path: Path) -> None:
    folder = tmp_path / "data"

    ended = ran("serve", f"--data-dir={folder}", CS_FAILPOINTS="relay.after-publish=kill")

    assert "CS_FAILPOINTS" in ended.error(2)
    assert "--sandbox" in ended.error(2)
    assert not folder.exists()


def test_a_sandbox_service_reports_a_point_that_does_not_exist(tmp_path: Path) -> None:
    ended = ran("serve", "--sandbox", f"--data-dir={tmp_path}", CS_FAILPOINTS="x=kill")

    assert "CS_FAILPOINTS: there is no point 'x'" in ended.error(2)
