"""Trajectories: initial states, controls by name, saving, splitting and open-loop simulation."""

import mujoco
import numpy as np
import pytest

from trueup.errors import ModelError, SignalError
from trueup.signals import SignalType, TimeSeries
from trueup.signals.signal_type import same_signals
from trueup.simulation import ModelSequences, SystemTrajectory, create_initial_state, sysid_rollout
from trueup.simulation.engine.initial_state import with_start_time
from trueup.simulation.engine.lead_in import LeadIn

TWO_MOTORS = """
<mujoco>
  <option timestep="0.002"/>
  <worldbody>
    <body><joint name="a" type="slide" axis="1 0 0" damping="1"/><geom size=".1" mass="1"/>
      <body><joint name="b" type="slide" axis="0 1 0" damping="2"/><geom size=".1" mass="2"/>
    </body></body>
  </worldbody>
  <actuator><motor name="ma" joint="a"/><motor name="mb" joint="b" gear="3"/></actuator>
  <sensor>
    <jointpos name="pa" joint="a"/><jointpos name="pb" joint="b"/>
    <jointvel name="va" joint="a"/><jointvel name="vb" joint="b"/>
  </sensor>
</mujoco>
"""

FREE_AND_HINGES = """
<mujoco>
  <worldbody>
    <body name="box" pos="0 0 1"><freejoint name="root"/><geom size=".1"/></body>
    <body><joint name="h1"/><geom size=".1" mass="1"/>
      <body><joint name="h2"/><geom size=".1" mass="1"/></body></body>
  </worldbody>
  <actuator><general name="slow" joint="h1" dyntype="filter" dynprm="0.1"/></actuator>
</mujoco>
"""

DELAYED = """
<mujoco>
  <option timestep="0.002"/>
  <worldbody><body><joint name="j"/><geom size=".1" pos=".2 0 0"/></body></worldbody>
  <actuator><motor name="m" joint="j" delay="0.01" nsample="10" interp="linear"/></actuator>
  <sensor><jointpos name="p" joint="j" delay="0.006" nsample="5"/></sensor>
</mujoco>
"""

SAMPLES = 60
TIMES = np.arange(SAMPLES) * 0.002
CONTROL = np.column_stack([np.sin(40 * TIMES), np.cos(25 * TIMES)])


@pytest.fixture(scope="module")
def model() -> mujoco.MjModel:
    return mujoco.MjModel.from_xml_string(TWO_MOTORS)


def simulate(model, control: TimeSeries, **kwargs) -> SystemTrajectory:
    start = kwargs.pop("initial_state", None)
    if start is None:
        start = create_initial_state(model, model.qpos0)
    (trajectory,) = sysid_rollout(model, mujoco.MjData(model), control, start, **kwargs)
    return trajectory


@pytest.fixture(scope="module")
def trajectory(model) -> SystemTrajectory:
    return simulate(model, TimeSeries.from_control_names(TIMES, CONTROL, model))


class TestInitialState:
    def test_size_and_time(self):
        model = mujoco.MjModel.from_xml_string(FREE_AND_HINGES)
        state = create_initial_state(model, model.qpos0, np.zeros(model.nv), [0.3])
        assert state.shape == (mujoco.mj_stateSize(model, mujoco.mjtState.mjSTATE_FULLPHYSICS),)
        assert state[0] == 0
        assert state[1 + model.nq + model.nv] == 0.3

    def test_named_joints_leave_the_rest_at_defaults(self):
        model = mujoco.MjModel.from_xml_string(FREE_AND_HINGES)
        state = create_initial_state(
            model,
            np.array([2.2, 1.1]),
            np.array([3.3]),
            qpos_names=["h2_qpos", "h1"],
            qvel_names=["h2_qvel"],
        )
        data = mujoco.MjData(model)
        mujoco.mj_setState(model, data, state, mujoco.mjtState.mjSTATE_FULLPHYSICS.value)
        np.testing.assert_array_equal(data.qpos, [0, 0, 1, 1, 0, 0, 0, 1.1, 2.2])
        np.testing.assert_array_equal(data.qvel, [0] * 7 + [3.3])

    def test_a_named_free_body_takes_seven_values(self):
        model = mujoco.MjModel.from_xml_string(FREE_AND_HINGES)
        pose = np.array([1.0, 2, 3, 0, 1, 0, 0])
        state = create_initial_state(model, pose, qpos_names=["box"])
        np.testing.assert_array_equal(state[1:8], pose)

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ({"qpos": np.zeros(999)}, r"qpos to have shape \(9,\), found \(999,\)"),
            ({"qpos": np.zeros(9), "qvel": np.zeros(9)}, "qvel to have shape"),
            ({"qpos": np.zeros(9), "act": np.zeros(2)}, "act to have shape"),
            ({"qpos": np.zeros(2), "qpos_names": ["h1"]}, r"shape \(1,\)"),
            ({"qpos": np.zeros(1), "qpos_names": ["h3"]}, "no qpos named 'h3'.*'h1_qpos'"),
            ({"qpos": np.zeros(2), "qpos_names": ["h1", "h1_qpos"]}, "duplicate: 'h1', 'h1_qpos'"),
            ({"qpos": np.zeros(9), "qvel_names": ["h1"]}, "qvel_names requires qvel"),
            ({"qpos": np.full(9, np.nan)}, "not finite"),
        ],
    )
    def test_errors(self, arguments, message):
        model = mujoco.MjModel.from_xml_string(FREE_AND_HINGES)
        with pytest.raises(SignalError, match=message):
            create_initial_state(model, **arguments)


class TestRollout:
    def test_clock_and_values_are_those_of_single_steps(self, model, trajectory):
        data = mujoco.MjData(model)
        for row in range(SAMPLES - 1):
            data.ctrl[:] = CONTROL[row]
            mujoco.mj_step(model, data)
        assert len(trajectory) == SAMPLES - 1
        np.testing.assert_array_equal(trajectory.state.data[-1, 1:3], data.qpos)
        np.testing.assert_array_equal(trajectory.sensordata.times, 0.002 * np.arange(1, SAMPLES))
        np.testing.assert_array_equal(trajectory.control.times, TIMES[:-1])

    def test_state_signals_stand_in_the_columns_of_the_state(self, model, trajectory):
        columns = trajectory.state.get_indices("b_qvel")[1]
        np.testing.assert_array_equal(
            trajectory.state.data[:, columns], trajectory.state.data[:, 4:]
        )

    def test_named_controls_reach_their_actuators(self, model, trajectory):
        """Controls recorded in another order drive the right motors."""
        swapped = TimeSeries.from_control_names(TIMES, CONTROL[:, ::-1], model, ["mb", "ma"])
        result = simulate(model, swapped)
        np.testing.assert_array_equal(result.sensordata.data, trajectory.sensordata.data)
        np.testing.assert_array_equal(result.control.data, CONTROL[:-1])
        assert list(result.control.signal_mapping) == ["ma_ctrl", "mb_ctrl"]

    def test_unnamed_controls_go_in_model_order(self, model, trajectory):
        for mapping in (None, {"torques": (SignalType.CustomObs, np.array([0, 1]))}):
            result = simulate(model, TimeSeries(TIMES, CONTROL, mapping))
            np.testing.assert_array_equal(result.sensordata.data, trajectory.sensordata.data)

    def test_controls_may_stand_among_other_columns(self, model, trajectory):
        padded = np.column_stack([CONTROL[:, 1], np.full(SAMPLES, 9.0), CONTROL[:, 0]])
        mapping = {
            "mb": (SignalType.MjCtrl, np.array([0])),
            "temperature": (SignalType.CustomObs, np.array([1])),
            "ma_ctrl": (SignalType.MjCtrl, np.array([2])),
        }
        result = simulate(model, TimeSeries(TIMES, padded, mapping))
        np.testing.assert_array_equal(result.sensordata.data, trajectory.sensordata.data)

    @pytest.mark.parametrize(
        ("columns", "mapping", "message"),
        [
            (3, None, r"Control data dimension \(3,\).*2 actuators"),
            (2, {"ma": (SignalType.MjCtrl, np.array([0]))}, "Missing controls: 'mb_ctrl'"),
            (
                2,
                {"mc": (SignalType.MjCtrl, np.array([0]))},
                r"no actuator for the control 'mc'.*'ma_ctrl', 'mb_ctrl'",
            ),
            (2, {"ma": (SignalType.MjCtrl, np.array([0, 1]))}, "has one column"),
            (2, {"ma": (SignalType.MjCtrl, np.array([5]))}, "has one column"),
            (
                2,
                {
                    "ma": (SignalType.MjCtrl, np.array([0])),
                    "ma_ctrl": (SignalType.MjCtrl, np.array([1])),
                },
                "given twice",
            ),
        ],
    )
    def test_wrong_controls(self, model, columns, mapping, message):
        with pytest.raises(SignalError, match=message):
            simulate(model, TimeSeries(TIMES, np.zeros((SAMPLES, columns)), mapping))

    def test_a_clock_that_does_not_start_at_zero_changes_only_the_times(self, model, trajectory):
        late = TimeSeries.from_control_names(TIMES + 100, CONTROL, model)
        result = simulate(model, late)
        np.testing.assert_array_equal(result.sensordata.data, trajectory.sensordata.data)
        np.testing.assert_array_equal(result.sensordata.times, 100 + 0.002 * np.arange(1, SAMPLES))
        np.testing.assert_allclose(result.state.data[:, 0], result.state.times, rtol=1e-12)
        assert result.initial_state[0] == 100

    def test_the_clock_of_the_initial_state_does_not_matter(self, model, trajectory):
        state = with_start_time(model, create_initial_state(model, model.qpos0), 7.0)
        result = simulate(model, TimeSeries(TIMES + 5, CONTROL), initial_state=state)
        np.testing.assert_array_equal(result.sensordata.data, trajectory.sensordata.data)
        np.testing.assert_allclose(result.state.data[:, 0], 5 + TIMES[1:], rtol=1e-12)
        assert result.initial_state[0] == 5

    def test_delay_buffers_move_with_the_clock(self):
        model = mujoco.MjModel.from_xml_string(DELAYED)
        control = 0.5 + CONTROL[:, :1]
        early = simulate(model, TimeSeries(TIMES, control))
        for clock in (100.0, 1.7e9):
            late = simulate(model, TimeSeries(TIMES + clock, control))
            np.testing.assert_array_equal(late.sensordata.data, early.sensordata.data)
        assert np.abs(early.sensordata.data).max() > 1e-4
        state = create_initial_state(model, model.qpos0)
        at_100 = with_start_time(model, state, 100.0)
        np.testing.assert_allclose(at_100[5:15] - state[5:15], 100.0)
        np.testing.assert_allclose(
            with_start_time(model, with_start_time(model, state, 100.0), 0.0), state, atol=1e-13
        )
        assert state[0] == 0

    def test_several_models_lengths_and_starts_at_once(self, model):
        heavy = mujoco.MjSpec.from_string(TWO_MOTORS)
        heavy.geoms[0].mass = 5
        models = [model, heavy.compile()]
        controls = [TimeSeries(TIMES, CONTROL), TimeSeries(TIMES[:31], CONTROL[:31])]
        states = [create_initial_state(model, q) for q in ([0.0, 0.0], [0.1, 0.2])]
        datas = [mujoco.MjData(model) for _ in range(2)]
        together = sysid_rollout(models, datas, controls, states)
        assert [len(t) for t in together] == [SAMPLES - 1, 30]
        for one, parts in zip(together, zip(models, controls, states)):
            alone = simulate(parts[0], parts[1], initial_state=parts[2])
            np.testing.assert_array_equal(one.sensordata.data, alone.sensordata.data)
            assert one.model is parts[0]
        shared = sysid_rollout(model, datas, controls[0], np.stack(states))
        assert len(shared) == 2

    def test_given_mappings_are_used(self, model):
        names = {"all": (SignalType.MjSensor, np.arange(4))}
        result = simulate(model, TimeSeries(TIMES, CONTROL), rollout_signal_mapping=names)
        assert same_signals(result.sensordata.signal_mapping, names)
        assert "a_qpos" in result.state.signal_mapping

    def test_wrong_sizes(self, model):
        data, control = mujoco.MjData(model), TimeSeries(TIMES, CONTROL)
        with pytest.raises(SignalError, match=r"Initial state 0 .* has 3 elements"):
            sysid_rollout(model, data, control, np.zeros(3))
        with pytest.raises(SignalError, match="2 models, 3 controls"):
            sysid_rollout([model] * 2, data, [control] * 3, np.zeros(5))
        with pytest.raises(SignalError, match="one sample"):
            sysid_rollout(model, data, TimeSeries(TIMES[:1], CONTROL[:1]), np.zeros(5))

    def test_a_diverging_simulation_is_silent_and_keeps_its_clock(
        self, tmp_path, monkeypatch, capfd
    ):
        monkeypatch.chdir(tmp_path)
        model = mujoco.MjModel.from_xml_string(
            """<mujoco><option timestep="0.1" integrator="Euler"/><worldbody><body>
            <joint name="j" type="slide" stiffness="1e9"/><geom size=".1"/></body></worldbody>
            <actuator><motor name="m" joint="j"/></actuator></mujoco>"""
        )
        control = TimeSeries(np.arange(20) * 0.1, np.zeros((20, 1)))
        result = simulate(model, control, initial_state=create_initial_state(model, [1.0]))
        assert len(result) == 19
        assert np.isfinite(result.state.data).all()
        assert list(tmp_path.iterdir()) == []
        assert capfd.readouterr() == ("", "")


class TestTrajectory:
    def test_npz_round_trip_keeps_all_mappings(self, model, trajectory, tmp_path):
        trajectory.save_to_disk(tmp_path / "run.npz")
        loaded = SystemTrajectory.load_from_disk(tmp_path / "run.npz", model)
        for part in ("control", "sensordata", "state"):
            saved, read = getattr(trajectory, part), getattr(loaded, part)
            np.testing.assert_array_equal(read.data, saved.data)
            np.testing.assert_array_equal(read.times, saved.times)
            assert same_signals(read.signal_mapping, saved.signal_mapping)
        np.testing.assert_array_equal(loaded.initial_state, trajectory.initial_state)

    def test_states_are_optional(self, model, trajectory, tmp_path):
        trajectory.replace(state=None).save_to_disk(tmp_path / "real.npz")
        assert SystemTrajectory.load_from_disk(tmp_path / "real.npz", model).state is None

    def test_a_foreign_file_is_refused(self, model, tmp_path):
        np.savez(tmp_path / "other.npz", angles=TIMES)
        with pytest.raises(SignalError, match="not a saved trajectory: it contains 'angles'"):
            SystemTrajectory.load_from_disk(tmp_path / "other.npz", model)

    def test_sensor_slices_by_kind(self, model, trajectory):
        data = trajectory.sensordata.data
        np.testing.assert_array_equal(trajectory.get_sensordata_slice("joint_vel"), data[:, 2:])
        reordered = TimeSeries.from_names(TIMES[1:], data[:, [3, 0]], model, ["vb", "pa"])
        partial = trajectory.replace(sensordata=reordered)
        np.testing.assert_array_equal(partial.get_sensordata_slice("joint_pos"), data[:, [0]])
        with pytest.raises(SignalError, match="no joint_torque sensor"):
            trajectory.get_sensordata_slice("joint_torque")
        with pytest.raises(SignalError, match="Did you mean 'joint_pos'"):
            trajectory.get_sensordata_slice("joint_post")

    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"sensordata": TimeSeries(TIMES, np.zeros((SAMPLES, 5)))}, "Sensor data dimension 5"),
            ({"sensordata": TimeSeries(TIMES, np.zeros(SAMPLES))}, "2-dimensional"),
            ({"initial_state": np.zeros(4)}, r"Initial state dimension \(4,\).* 5"),
            ({"state": TimeSeries(TIMES, np.zeros((SAMPLES, 4)))}, "State dimension"),
            ({"control": TimeSeries(TIMES, np.zeros((SAMPLES, 1)))}, "Control data dimension"),
            (
                {
                    "sensordata": TimeSeries.from_custom_map(
                        TIMES, np.zeros((SAMPLES, 4)), [("pc", 4, SignalType.MjSensor)]
                    )
                },
                "no MjSensor signal 'pc'",
            ),
            (
                {
                    "sensordata": TimeSeries.from_custom_map(
                        TIMES, np.zeros((SAMPLES, 4)), [("pa", 4, SignalType.MjSensor)]
                    )
                },
                "'pa' has 4 columns in the data and 1 in the model",
            ),
            (
                {
                    "sensordata": TimeSeries(
                        TIMES,
                        np.zeros((SAMPLES, 4)),
                        {"pa": (SignalType.MjSensor, np.array([4]))},
                    )
                },
                "refers to columns",
            ),
        ],
    )
    def test_incompatible_parts_are_named(self, trajectory, changes, message):
        with pytest.raises(SignalError, match=message):
            trajectory.replace(**changes).check_compatible()

    def test_missing_sensors_can_be_allowed(self, model, trajectory):
        partial = TimeSeries.from_names(TIMES, np.zeros((SAMPLES, 1)), model, ["vb"])
        partial = trajectory.replace(sensordata=partial)
        with pytest.raises(SignalError, match="allow_missing_sensors=True"):
            partial.check_compatible()
        partial.check_compatible(allow_missing_sensors=True)

    def test_rendering_needs_states(self, trajectory):
        with pytest.raises(SignalError, match="no states to render"):
            trajectory.replace(state=None).render()


class TestSplit:
    def test_chunks_keep_names_and_continue_where_the_last_ended(self, trajectory):
        chunks = trajectory.split(20)
        assert [len(chunk) for chunk in chunks] == [20, 20]
        np.testing.assert_array_equal(chunks[0].initial_state, trajectory.initial_state)
        np.testing.assert_array_equal(chunks[1].initial_state, trajectory.state.data[19])
        for chunk in chunks:
            for part in ("control", "sensordata", "state"):
                assert same_signals(
                    getattr(chunk, part).signal_mapping, getattr(trajectory, part).signal_mapping
                )

    @pytest.mark.parametrize("clock", [0.0, 1000.0])
    @pytest.mark.parametrize("with_state", [True, False])
    def test_chunks_are_sequences_that_simulate_to_the_same_data(self, model, clock, with_state):
        """Chunks go into ModelSequences and reproduce the trajectory that they were cut from."""
        control = TimeSeries.from_control_names(TIMES + clock, CONTROL, model)
        whole = simulate(model, control)
        states = np.vstack([whole.initial_state, whole.state.data[:-1]])[:, 1:]
        if not with_state:
            # A recording samples controls and sensors at the same instants.
            measured = TimeSeries.from_names(whole.control.times, states, model)
            whole = whole.replace(state=None, sensordata=measured)
        chunks = whole.split(20)
        spec = mujoco.MjSpec.from_string(TWO_MOTORS)
        group = ModelSequences.from_trajectories("m", spec, ["first", "second"], chunks)
        for number, chunk in enumerate(group.measured_rollout):
            predicted = simulate(group.gt_model, chunk.control, initial_state=chunk.initial_state)
            start = 20 * number
            np.testing.assert_allclose(
                predicted.state.data[:, 1:], states[start + 1 : start + 20], atol=1e-12
            )
            np.testing.assert_allclose(
                predicted.state.times, clock + TIMES[start + 1 : start + 20], atol=1e-9
            )

    def test_a_group_keeps_trajectories_but_their_states_and_checks_them(self, model, trajectory):
        spec = mujoco.MjSpec.from_string(TWO_MOTORS)
        before = LeadIn(trajectory.control, trajectory.initial_state)
        whole = trajectory.replace(lead_in=before, name="another")
        group = ModelSequences.from_trajectories("m", spec, ["one"], [whole])
        (kept,) = group.measured_rollout
        assert (kept.name, kept.state, kept.lead_in) == ("one", None, before)
        assert kept.model is group.gt_model is not model
        assert kept.control is whole.control and kept.sensordata is whole.sensordata
        with pytest.raises(
            SignalError, match=r"'m' requires one .*2 sequence names, 1 trajectories"
        ):
            ModelSequences.from_trajectories("m", spec, ["one", "two"], [whole])
        short = whole.replace(initial_state=whole.initial_state[:-1])
        with pytest.raises(SignalError, match="Sequence 'one' of 'm': Initial state dimension"):
            ModelSequences.from_trajectories("m", spec, ["one"], [short])

    def test_recorded_state_signals_give_the_start(self):
        model = mujoco.MjModel.from_xml_string(FREE_AND_HINGES)
        rng = np.random.default_rng(0)
        names = ["h2_qvel", "box_qpos", "h1_qvel", "box_qvel", "h2_qpos", "h1_qpos", "slow_act"]
        times = 50 + np.arange(10) * 0.01
        measured = TimeSeries.from_names(times, rng.normal(size=(10, 18)), model, names)
        recorded = SystemTrajectory(
            model,
            TimeSeries(times, np.zeros((10, 1))),
            measured,
            create_initial_state(model, model.qpos0),
        )
        second = recorded.split(5)[1].initial_state
        assert second[0] == times[5]
        row = measured.data[5]
        quaternion = row[4:8] / np.linalg.norm(row[4:8])
        np.testing.assert_allclose(second[1:4], row[1:4])
        np.testing.assert_allclose(second[4:8], quaternion)
        np.testing.assert_allclose(second[8:10], [row[16], row[15]])
        np.testing.assert_allclose(second[10:18], [*row[9:15], row[8], row[0]])
        assert second[18] == row[17]

    def test_unknown_starts_are_refused(self, model, trajectory):
        positions = TimeSeries.from_names(
            TIMES[:-1], trajectory.sensordata.data[:, :2], model, ["pa", "pb"]
        )
        with pytest.raises(SignalError, match="'a_qvel', 'b_qvel' are neither"):
            trajectory.replace(sensordata=positions, state=None).split(20)
        shifted = TimeSeries(trajectory.state.times + 0.001, trajectory.state.data)
        with pytest.raises(SignalError, match="No state is known at"):
            trajectory.replace(state=shifted).split(20)

    def test_bad_sizes(self, trajectory):
        for size in (0, 60):
            with pytest.raises(SignalError, match="chunk_size"):
                trajectory.split(size)
        control = trajectory.control.resample(target_dt=0.001)
        with pytest.raises(SignalError, match="equal length"):
            trajectory.replace(control=control).split(10)


class TestModelSequences:
    @pytest.fixture
    def parts(self, model, trajectory):
        measured = TimeSeries.from_names(TIMES, np.zeros((SAMPLES, 4)), model)
        return create_initial_state(model, [0, 0]), TimeSeries(TIMES, CONTROL), measured

    def spec(self) -> mujoco.MjSpec:
        return mujoco.MjSpec.from_string(TWO_MOTORS)

    def test_the_users_spec_stays_as_it_was(self, parts):
        spec = self.spec()
        before = spec.copy().to_xml()
        group = ModelSequences("arm", spec, "run", *parts)
        assert group.spec is spec
        assert spec.geoms[0].id == -1  # an element gets its number when its spec is compiled
        assert spec.copy().to_xml() == before
        spec.geoms[0].mass = 7
        assert group.gt_model.body_mass[1] == 1
        assert group[0].gt_model.body_mass[1] == 1

    def test_a_single_sequence_and_lists_are_sliced_alike(self, parts):
        single = ModelSequences("arm", self.spec(), "run", *parts)
        assert len(single) == 1
        assert single[0].sequence_name == single["run"].sequence_name == ["run"]
        state, control, measured = parts
        several = ModelSequences(
            "arm", self.spec(), ["r0", "r1", "r2"], [state] * 3, [control] * 3, [measured] * 3
        )
        assert several[-1].sequence_name == ["r2"]
        assert several[1:].sequence_name == ["r1", "r2"]
        assert several["r1"].measured_rollout == [several.measured_rollout[1]]
        assert several[["r2", 0]].sequence_name == ["r2", "r0"]
        assert [part.sequence_name for part in several] == [["r0"], ["r1"], ["r2"]]
        with pytest.raises(SignalError, match="no sequence 'r3'"):
            several["r3"]
        with pytest.raises(IndexError, match="position 3 is out of range"):
            several[3]
        assert "'r0', 'r1', 'r2'" in repr(several)

    def test_initial_states_as_rows_of_one_array(self, parts):
        state, control, measured = parts
        group = ModelSequences(
            "arm", self.spec(), ["a", "b"], np.stack([state] * 2), [control] * 2, [measured] * 2
        )
        assert [len(s) for s in group.initial_state] == [5, 5]

    @pytest.mark.parametrize(
        ("position", "wrong", "message"),
        [
            (0, np.zeros(4), "Sequence 'bad' of 'arm': Initial state dimension"),
            (0, np.full(5, np.nan), "Sequence 'bad' .* initial state contains values"),
            (1, TimeSeries(TIMES, np.zeros((SAMPLES, 3))), "'bad' .* Control data dimension"),
            (
                1,
                TimeSeries(TIMES, np.full((SAMPLES, 2), np.nan)),
                "'bad' .* control contains values that are not finite",
            ),
            (1, TimeSeries(TIMES[:1], CONTROL[:1]), "'bad' .* one sample"),
            (2, TimeSeries(TIMES, np.zeros((SAMPLES, 3))), "'bad' .* Sensor data dimension 3"),
            (
                2,
                TimeSeries.from_custom_map(
                    TIMES, np.zeros((SAMPLES, 4)), [("px", 4, SignalType.MjSensor)]
                ),
                "'bad' .* no MjSensor signal 'px'.*'pa'",
            ),
            (2, TimeSeries(TIMES + 9, np.zeros((SAMPLES, 4))), "'bad' .* do not overlap"),
        ],
    )
    def test_errors_say_which_sequence_is_wrong(self, parts, position, wrong, message):
        lists = [[part, part] for part in parts]
        lists[position][1] = wrong
        with pytest.raises(SignalError, match=message):
            ModelSequences("arm", self.spec(), ["good", "bad"], *lists)

    def test_counts_must_agree(self, parts):
        state, control, measured = parts
        with pytest.raises(SignalError, match="2 sequence names, 1 initial states"):
            ModelSequences("arm", self.spec(), ["a", "b"], state, control, measured)

    def test_a_broken_model_is_named(self, parts):
        spec = self.spec()
        spec.joints[0].range = [1, -1]
        spec.joints[0].limited = True
        with pytest.raises(ModelError, match="'arm' does not compile"):
            ModelSequences("arm", spec, "run", *parts)
