"""No password, token or key reaches a file or the terminal, whatever way it came in."""

import base64
import contextlib
import gzip
import io
import json
import re
import shutil
import sqlite3
import sys
import tempfile
import time
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import MagicMock

import pytest
import yaml
from toy_postgresql import PASSWORD, Server, find_programs
from work import KINDS, PROBLEM

from trueup import reports
from trueup._secrets import mask, mask_arguments, masked
from trueup.cli import main
from trueup.errors import StorageError
from trueup.parameters import Parameter, ParameterDict
from trueup.reports.content import Yaml
from trueup.runs import EventLog, RunDirectory, atomic
from trueup.runs.optuna_storage import load_study
from trueup.runs.trackers import TrackedRun, WandbTracker

MARK = "S3crXq7vKw2"
"""Part of every secret that is planted."""

TEXTS = [
    f"postgresql://u1:{MARK}et@h/st",
    f"postgresql://u1:{MARK}/cr/et@h/st",
    f"postgresql://u1:p@{MARK}@et@h/st",
    f"postgresql://u1:pa:{MARK}@h:5432/st?x=1",
    f"postgresql://u1:12/{MARK}@h/st",
    f"postgresql://u1:two words {MARK}@h/st",
    f"postgresql+psycopg://u1:{MARK}%40x@h/st",
    f"postgresql://u1:{MARK}",
    f"https://{MARK}0123@example.org/x",
    f"tcp://u:{MARK}@10.0.0.1:8786",
    f"postgresql://h/st?user=u1&password={MARK}",
    f"postgresql://h/st?sslpassword={MARK}/@:&user=u1",
    f"mysql://h/st?passwd={MARK}'x&b=1",
    f"sqlite:////tmp/x.db?password={MARK}",
    f"https://h/x?access_token={MARK}&api-key={MARK}",
    f"host=h user=u password={MARK} dbname=st",
    f"password = '{MARK} two words'",
    f'{{"password": "{MARK} two \\" words", "user": "u"}}',
    f"{{'api_key': '{MARK}'}}",
    f"PGPASSWORD={MARK} psql",
    f"MYSQL_PWD={MARK}",
    f"WANDB_API_KEY={MARK}",
    f"storage:\n  password: {MARK} two words\n  user: u\n",
    f"- token: {MARK}\n",
    f"+wandb.api_key={MARK}",
    f"--api-key {MARK} --seed 3",
    f"--token={MARK}",
    f"Authorization: Bearer {MARK}abcdef",
    f"called with bearer {MARK}abcdef012345678",
    f"https://x.blob.core.windows.net/logs?sv=2020&sig={MARK}%2Bab%3D&se=2027",
    f"https://maps.example.org/tile?key={MARK}0123&z=3",
    f"https://b.s3.amazonaws.com/o?X-Amz-Credential={MARK}/2027&X-Amz-Signature={MARK}",
    f"https://storage.googleapis.com/o?X-Goog-Signature={MARK}",
    f"curl 'https://h/x?a=1&signature={MARK}'",
    f"Cookie: session={MARK}; id={MARK}",
    f"Set-Cookie: id={MARK}; Path=/",
    f"--cookie session={MARK}",
    f"pushed with ghp_{MARK}0123456789abcdef",
    f"github_pat_{MARK}0123456789_abcdef",
    f"glpat-{MARK}0123456789abcd",
    f"sk-{MARK}0123456789abcdef",
    f"sk-proj-{MARK}-0123456789abcdef",
    f"xoxb-{MARK}-0123456789",
    f"hf_{MARK}0123456789abcdef",
    f"-----BEGIN RSA PRIVATE KEY-----\nMIIE{MARK}\nab==\n-----END RSA PRIVATE KEY-----\nafter",
    f"-----BEGIN OPENSSH PRIVATE KEY-----\n{MARK}",
    f"eyJhbGciOi.{MARK}eyJzdWIi.{MARK}sig",
    f"sshpass -p {MARK} ssh u@h",
    f"mysql -u root -p{MARK} db",
    f"DEPLOY_KEY={MARK}x",
    f"export GITHUB_PAT='{MARK}x'",
    f"SSHPASS={MARK}x",
    f"AZURE_STORAGE_KEY: {MARK}==",
    f"SLACK_WEBHOOK_URL=https://hooks.slack.com/services/T0/B0/{MARK}",
    f"posted to https://hooks.slack.com/services/T0/B0/{MARK}",
    f"https://discord.com/api/webhooks/0123/{MARK}",
    f"https://api.telegram.org/bot123:{MARK}/send",
    f"the storage 'postgresql://u1:{MARK}/@x@h/st' cannot be used (tried for 3 s): no route",
]

HARMLESS = [
    "http://host:8080/path and tcp://10.0.0.1:8786, then mail to a@b.org",
    "sqlite:////data/a:b@c/x.db",
    "the key 'password' is unknown; there are 'user', 'host'",
    "tokenizer=5 author=me monkey=3 compass=n passive=4 keyframe=2 bypass=1",
    "basic friction terms are kept, basic parameters too",
    "give the token: it is in your account",
    "error: token: missing",
    "git@github.com",
    "mkdir -p runs/a && ssh -p 22 host",
    "risk-free_and_more_words_0123456789, task-0123456789abcdefghi",
    "http://h/x?seed=1&code_rate=3 with joint_key=3 and keyboard_key: 5",
    "-----BEGIN CERTIFICATE-----",
    "HTTP_OK=1 N_JOINTS=6 MAX_TORQUE=3.5",
]


@pytest.mark.parametrize("text", TEXTS)
def test_a_secret_in_a_text_is_masked(text):
    shown = mask(text)
    assert MARK not in shown
    assert "***" in shown
    assert mask(shown) == shown
    assert MARK not in json.dumps(masked({"a": [text], "b": {"c": text}}))
    assert MARK not in " ".join(mask_arguments(["trueup", "--storage", text]))
    if "\n" not in text:
        assert MARK not in " ".join(mask_arguments([f"--storage={text}"]))


@pytest.mark.parametrize("text", HARMLESS)
def test_a_text_without_secrets_stays(text):
    assert mask(text) == text


def test_values_are_masked_by_the_name_of_their_key_and_numbers_stay():
    data = {"db_password": f"{MARK}", "auth": f"{MARK}", "pass": 0.5, "token": "", "author": "me"}
    expected = {"db_password": "***", "auth": "***", "pass": 0.5, "token": "", "author": "me"}
    assert masked(data) == expected


def test_arguments_that_follow_a_secret_option_are_masked():
    words = ["trueup", "--password", f"two {MARK}", "--key", "3", "--api-key", MARK, "--seed", "4"]
    assert mask_arguments(words) == [
        *("trueup", "--password", "***", "--key", "3", "--api-key", "***", "--seed", "4"),
    ]
    url = f"--storage=postgresql://h/d?password=a b'{MARK}&x=1"
    assert mask_arguments([url]) == ["--storage=postgresql://h/d?password=***&x=1"]


def test_a_large_text_is_searched_quickly():
    texts = ["a.b-" * 500_000 + " password=x", "0.123456,-1.5e-7\n" * 250_000, "token" * 200_000]
    begin = "-----BEGIN PRIVATE KEY-----"
    for part in ("A_B=1&A_B=", "sk-", "eyJ", "AB_", "mysql ", "?a=1&b=", "cookie:", begin):
        texts.append(part * (500_000 // len(part)))
    for text in texts:
        started = time.process_time()
        mask(text)
        assert time.process_time() - started < 5.0


@pytest.fixture
def variables(monkeypatch):
    """Environment variables that hold secrets; the value of one has no telling form."""
    values = {
        "WANDB_API_KEY": f"{MARK}0123456789abcdef",
        "PGPASSWORD": f"{MARK}/in@the-environment",
        "DATABASE_URL": f"postgresql://u:{MARK}x@h/d",
        "DEPLOY_KEY": f"{MARK}:of the environment",
        "GITHUB_PAT": f"{MARK}_pat/with + signs",
        "SSHPASS": f"{MARK} two words",
        "ALERTS_WEBHOOK_URL": f"https://example.org/hook/{MARK}",
    }
    for name, value in values.items():
        monkeypatch.setenv(name, value)
    return values


def planted(monkeypatch, variables, words):
    """Set the command line of the process, with secrets in it, and return the words to run."""
    secret = [w for text in TEXTS for w in ("--storage", text)]
    monkeypatch.setattr(sys, "argv", ["trueup", *words, *secret, *variables.values()])
    return words


def written_forms(secret: str) -> list[bytes]:
    """A secret as it stands in files: plain, in hexadecimal digits, and in base64 at any place."""
    plain = secret.encode()
    forms = [plain, plain.hex().encode(), plain.hex().upper().encode()]
    for before in range(3):
        coded = base64.b64encode(bytes(before) + plain + bytes(3))
        # letters that depend on the secret alone
        forms.append(coded[-(-8 * before // 6) : 8 * (before + len(plain)) // 6])
    return [*forms, plain.decode().encode("utf-16-le")]


def layers(content: bytes) -> Iterator[bytes]:
    """A content, and what is packed in it."""
    yield content
    if zipfile.is_zipfile(io.BytesIO(content)):
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            for name in archive.namelist():
                yield from layers(archive.read(name))
    for coded in re.findall(rb"[A-Za-z0-9+/]{40,}={0,2}", content):
        packed = base64.b64decode(coded[: len(coded) // 4 * 4])
        if packed[:2] in (b"\x1f\x8b", b"\x78\x9c", b"\x78\xda", b"\x78\x01"):
            yield zlib.decompressobj(47).decompress(packed)
    if content[:2] in (b"\x1f\x8b", b"\x78\x9c", b"\x78\xda"):
        yield zlib.decompressobj(47).decompress(content)
    if content.startswith(b"SQLite format 3"):
        with tempfile.NamedTemporaryFile() as file:
            Path(file.name).write_bytes(content)
            with contextlib.closing(sqlite3.connect(file.name)) as database:
                for (name,) in database.execute(
                    "SELECT name FROM sqlite_master WHERE type='table'"
                ):
                    for row in database.execute(f'SELECT * FROM "{name}"'):
                        for value in row:
                            if isinstance(value, bytes) and len(value) > 8:
                                yield from layers(value)


def test_the_forms_are_found():
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a", f"x{MARK}")
    plain = f"xy{MARK}z".encode()
    hidden = [plain, plain.hex().encode(), packed.getvalue(), zlib.compress(plain)]
    hidden += [base64.b64encode(bytes(k) + plain + bytes(5)) for k in range(4)]
    hidden += [b"data:" + base64.b64encode(gzip.compress(plain))]
    for content in hidden:
        found = [f for f in written_forms(MARK) for part in layers(content) if f in part]
        assert found, content


def assert_clean(*places: Path):
    """No file at the places holds a part of a secret, packed files included."""
    count = 0
    for place in places:
        for path in sorted(place.rglob("*")) if place.is_dir() else [place]:
            if not path.is_file():
                continue
            count += 1
            for content in layers(path.read_bytes()):
                for secret in (MARK, PASSWORD):
                    for form in written_forms(secret):
                        assert form not in content, f"{path} holds {form!r}"
    assert count


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_no_stored_byte_of_a_run_holds_a_secret(kind, tmp_path, monkeypatch, capfd, variables):
    work = KINDS[kind](tmp_path)
    words = planted(monkeypatch, variables, work.command(tmp_path))
    assert main(words) in (0, 3)
    run = tmp_path / work.run
    assert main(["report", str(run)]) == 0
    with contextlib.suppress(SystemExit):
        main(["study", "resume", str(run)])
    searched = kind not in ("network", "motion")
    assert main(["study", "show", str(run), "--json"]) == (0 if searched else 2)
    assert "***" in (run / "provenance.json").read_text(), "the command line is kept, masked"
    assert_clean(run, *(tmp_path / name for name in work.stored))
    captured = capfd.readouterr()
    assert MARK not in captured.out + captured.err


def test_words_of_the_user_are_stored_without_secrets(tmp_path, capfd):
    """Descriptions of parameters, texts of a model, what a configuration says."""
    words = f"from postgresql://anna:{MARK}@db/robots with wandb_api_key={MARK}01234567"
    work = KINDS["sysid"](tmp_path)
    file, model = tmp_path / "experiment.yaml", tmp_path / "pendulum.xml"
    content = yaml.safe_load(file.read_text())
    for part in content["parameters"].values():
        part["description"] = words
    file.write_text(yaml.safe_dump(content))
    text = f'<custom><text name="origin" data="{words}"/></custom><worldbody>'
    model.write_text(model.read_text().replace("<worldbody>", text))
    assert main(work.command(tmp_path)) in (0, 3)
    run = tmp_path / work.run
    assert main(["export", "dr", str(run), "draws=32", "-o", str(tmp_path / "dr")]) == 0
    assert_clean(run, tmp_path / "dr")
    for name in ("identified_parameters.yaml", "experiment.yaml", "model.xml"):
        assert "***" in (run / name).read_text(), name
    captured = capfd.readouterr()
    assert MARK not in captured.out + captured.err


OWN = f"""\
    import os

    class Own(VectorisedCosts):
        def costs(self, X, failures=None):
            if failures is not None:
                failures[0] = "postgresql://u:{MARK}@h/d refused " + os.environ["PGPASSWORD"]
            return super().costs(X)

    return Own(lambda X: (X**2).sum(axis=1), space)
"""


def test_reasons_of_invalid_candidates_are_stored_without_secrets(tmp_path, variables, capsys):
    (tmp_path / "reasons.py").write_text(
        PROBLEM.replace("    return VectorisedCosts(lambda X: (X**2).sum(axis=1), space)\n", OWN)
    )
    run = tmp_path / "run"
    main(["study", "run", f"{tmp_path}/reasons.py:problem", "--generations", "2", "-o", str(run)])
    assert main(["study", "export", str(run), "-o", str(tmp_path / "table.csv")]) == 0
    # the file of the user, and the bytecode that Python keeps of it
    (tmp_path / "reasons.py").unlink()
    shutil.rmtree(tmp_path / "__pycache__", ignore_errors=True)
    assert "***" in (tmp_path / "table.csv").read_text()
    assert_clean(tmp_path)
    captured = capsys.readouterr()
    assert MARK not in captured.out + captured.err


def test_every_writer_masks(tmp_path, variables):
    text = f"lost postgresql://u:{MARK}@h/d and {variables['PGPASSWORD']}"
    directory = RunDirectory.create(tmp_path / "run")
    atomic.write_text(directory.inside("a.txt"), text)
    atomic.write_json(directory.inside("a.json"), {"text": [text], "password": MARK})
    EventLog(directory.log).write("error", message=text)
    page = reports.Page(text, text, {"password": text, "arguments": [text]}, lead=text)
    page.add(reports.Section(text, content=[reports.Code(text), Yaml({"a": text})]))
    page.add(reports.Section("b", content=reports.Table(["a"], [{"a": text}])))
    page.save(directory.report)
    assert_clean(tmp_path)
    assert "***" in directory.report.read_text()


@pytest.mark.parametrize(
    "url",
    [
        f"postgresql://u1:{MARK}/x@127.0.0.1:9/st",
        f"postgresql://u1:{MARK}@x@127.0.0.1:9/st",
        f"postgresql://127.0.0.1:9/st?user=u1&password={MARK}/@",
        f"postgresql://u1:{MARK}@no-such-host.invalid/st",
        f"postgres://u1:{MARK}:9/st",
        f"oracel://u1:{MARK}@h/st",
    ],
)
def test_a_storage_that_cannot_be_used_is_named_without_its_password(url, tmp_path, capsys):
    run = str(tmp_path / "run")
    search = ["study", "run", "sphere", "--generations", "2", "-o", run]
    assert main([*search, "--quiet"]) in (0, 3)
    capsys.readouterr()
    assert main(["study", "export", run, "--optuna", url]) == 2
    captured = capsys.readouterr()
    assert captured.err.startswith("trueup: ")
    assert MARK not in captured.out + captured.err
    with pytest.raises(StorageError) as caught:
        load_study(url, None, ParameterDict({"a": Parameter("a", 0.5, 0.0, 1.0)}).space())
    assert MARK not in str(caught.value)


@pytest.mark.slow
def test_a_study_in_a_storage_with_a_password_keeps_it_nowhere(tmp_path, monkeypatch, capfd):
    pytest.importorskip("optuna")
    if find_programs() is None:
        pytest.skip("PostgreSQL is not installed: on Debian,  apt-get install postgresql")
    with contextlib.closing(Server()) as server:
        server.start()
        work = KINDS["servo"](tmp_path)
        words = [*work.command(tmp_path), "--storage", server.url]
        monkeypatch.setattr(sys, "argv", ["trueup", *words])
        assert main(words) in (0, 3)
        run = tmp_path / "m1.run"
        assert main(["report", str(run)]) == 0
        assert_clean(tmp_path)
        content = yaml.safe_load((run / "experiment.yaml").read_text())
        assert content["execution"]["storage"] is None
        words = ["study", "export", str(run), "--optuna", server.url]
        assert main(words) == 0, "a run that was resumed is given the storage again"
        assert_clean(tmp_path)
    captured = capfd.readouterr()
    assert PASSWORD not in captured.out + captured.err
    assert PASSWORD.replace(" ", "%20") not in captured.out + captured.err


def test_trackers_send_no_secret(tmp_path, monkeypatch):
    wandb = pytest.importorskip("wandb")
    begun = {}
    monkeypatch.setattr(wandb, "init", lambda **options: begun.update(options) or MagicMock())
    WandbTracker().begin(TrackedRun(tmp_path, "run", {"storage": TEXTS[0], "token": MARK}))
    assert begun["config"] == {"storage": "postgresql://***@h/st", "token": "***"}


def test_the_working_folder_is_no_secret(monkeypatch):
    monkeypatch.setenv("PWD", "/home/user/robots")
    monkeypatch.setenv("OLDPWD", "/home/user/models")
    text = "param_path: /home/user/robots/walk.txt, model: /home/user/models/arm.xml"
    assert mask(text) == text
