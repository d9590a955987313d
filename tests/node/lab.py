"""A real Chia full node in simulator mode, with its wallet, in one process on loopback.

    lab.py make DIR            makes the node's root: keys, certificates, tiny plots
    lab.py run DIR [HF2]       runs it on free ports; HF2 is the height of the coming hard fork, to try it

While it runs, each line on standard input is a command, `{"do": NAME, ...}`, and each is answered with one line,
`{"ok": ...}` or `{"error": ...}`. The first line it prints says where it listens. It ends when its input ends.
"""

import asyncio
import json
import logging
import os
import socket
import sys
import traceback
from pathlib import Path

# a public test phrase: its keys never hold anything
PHRASE = " ".join(["abandon"] * 23 + ["art"])


def environment(folder: Path) -> Path:
    os.environ["CHIA_ROOT"] = str(folder / "root")
    os.environ["CHIA_KEYS_ROOT"] = str(folder / "keys")
    return folder / "root"


async def make(folder: Path) -> None:
    root = environment(folder)
    from chia.cmds.sim_funcs import create_chia_directory, generate_plots
    from chia.util.keychain import Keychain

    fingerprint = Keychain().add_key(PHRASE).get_g1().get_fingerprint()
    config = create_chia_directory(root, fingerprint, None, None, False, False)
    await generate_plots(config, root, fingerprint, True)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def settle_ports(root: Path) -> dict:
    from chia.util.config import load_config, save_config

    config = load_config(root, "config.yaml")
    config["self_hostname"] = "127.0.0.1"
    config["full_node"]["port"] = free_port()
    config["full_node"]["rpc_port"] = free_port()
    config["wallet"]["rpc_port"] = free_port()
    config["wallet"]["full_node_peers"] = [{"host": "127.0.0.1", "port": config["full_node"]["port"]}]
    config["wallet"]["tx_resend_timeout_secs"] = 5
    config["full_node"]["enable_upnp"] = False
    config["harvester"]["plot_directories"] = [str(root.parent / config["simulator"]["plot_directory"])]
    config["logging"]["log_level"] = "WARNING"
    save_config(root, "config.yaml", config)
    return config


def constants(hf2: int | None):
    from chia.simulator.block_tools import test_constants
    from chia_rs.sized_ints import uint32

    if hf2 is None:
        return test_constants
    return test_constants.replace(
        HARD_FORK2_HEIGHT=uint32(hf2), SOFT_FORK8_HEIGHT=uint32(0), SOFT_FORK9_HEIGHT=uint32(0)
    )


def true_block_cost(generator, constants, height, prev_tx_height):
    """The cost of a block as consensus counts it.

    The simulator's own estimate always counts as before hard fork 2: it is given no height of an earlier block.
    """
    from chia_rs import DONT_VALIDATE_SIGNATURE, G2Element, get_flags_for_height_and_constants, run_block_generator2

    flags = get_flags_for_height_and_constants(height - 1, constants) | DONT_VALIDATE_SIGNATURE
    limit = constants.MAX_BLOCK_COST_CLVM
    error, message, conditions = run_block_generator2(bytes(generator), [], limit, flags, G2Element(), None, constants)
    if error is not None:
        raise RuntimeError(f"the generator fails: {error} {message}")
    return conditions.cost


async def node_service(root: Path, hf2: int | None):
    from chia.simulator import block_tools
    from chia.simulator.block_tools import BlockTools
    from chia.simulator.start_simulator import PLOT_SIZE, PLOTS, create_full_node_simulator_service
    from chia.util.bech32m import decode_puzzle_hash
    from chia.util.config import load_config, load_config_cli, override_config
    from chia.util.keychain import Keychain

    if hf2 is not None:
        block_tools.compute_block_cost = true_block_cost
    config = load_config(root, "config.yaml")
    config["full_node"] = load_config_cli_quietly(load_config_cli, root, "full_node")
    simulator, overrides = config["simulator"], {"simulator.use_current_time": True}
    tools = BlockTools(
        constants(hf2), root, config_overrides=overrides, automated_testing=False,
        plot_dir=simulator["plot_directory"], keychain=Keychain(),
    )
    await tools.setup_keys(
        fingerprint=int(simulator["key_fingerprint"]),
        reward_ph=decode_puzzle_hash(simulator["farming_address"]),
    )
    await tools.setup_plots(
        num_og_plots=PLOTS, num_pool_plots=0, num_non_keychain_plots=0, plot_size=PLOT_SIZE, num_v2_plots=PLOTS
    )
    return await create_full_node_simulator_service(
        root, override_config(config, overrides), tools, connect_to_daemon=False
    )


def wallet_service(root: Path, hf2: int | None):
    from chia.consensus.default_constants import DEFAULT_CONSTANTS
    from chia.util.config import load_config, load_config_cli
    from chia.util.keychain import Keychain
    from chia.wallet.start_wallet import create_wallet_service
    from chia_rs.sized_ints import uint16, uint32

    config = load_config(root, "config.yaml")
    config["wallet"] = load_config_cli_quietly(load_config_cli, root, "wallet")
    consts = DEFAULT_CONSTANTS
    if hf2 is not None:
        consts = consts.replace(
            HARD_FORK2_HEIGHT=uint32(hf2), SOFT_FORK8_HEIGHT=uint32(0), SOFT_FORK9_HEIGHT=uint32(0)
        )
    # after the fork a node turns away peers that do not say they know it
    capabilities = [(uint16(number), "1") for number in (1, 2, 3, 6)]
    return create_wallet_service(
        root, config, consts, Keychain(), connect_to_daemon=False, override_capabilities=capabilities
    )


def load_config_cli_quietly(load_config_cli, root: Path, name: str):
    # it reads flags from sys.argv, which are ours
    arguments, sys.argv = sys.argv, sys.argv[:1]
    try:
        return load_config_cli(root, "config.yaml", name)
    finally:
        sys.argv = arguments


async def run(folder: Path, hf2: int | None) -> None:
    root = environment(folder)
    config = settle_ports(root)
    logging.basicConfig(filename=folder / "lab.log", level=logging.WARNING)
    from chia.util.chia_logging import initialize_logging

    initialize_logging("lab", config["logging"], root)
    node = await node_service(root, hf2)
    async with node.manage():
        wallet = wallet_service(root, hf2)
        async with wallet.manage():
            await serve(root, config)


async def serve(root: Path, config: dict) -> None:
    from driver import Driver

    driver = Driver(root, config)
    ssl = root / "config" / "ssl" / "full_node"
    print(json.dumps({
        "peer": config["full_node"]["port"],
        "rpc": config["full_node"]["rpc_port"],
        "certificate": str(ssl / "private_full_node.crt"),
        "key": str(ssl / "private_full_node.key"),
        "database": str(root / "db" / "blockchain_v2_simulator0.sqlite"),
        "root": str(root),
    }), flush=True)
    loop = asyncio.get_running_loop()
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        answer = await loop.run_in_executor(None, perform, driver, line)
        print(json.dumps(answer), flush=True)


def perform(driver, line: str) -> dict:
    try:
        command = json.loads(line)
        return {"ok": getattr(driver, "do_" + command.pop("do"))(**command)}
    except Exception as error:
        traceback.print_exc()
        return {"error": f"{type(error).__name__}: {error}"[:2000]}


if __name__ == "__main__":
    action, where = sys.argv[1], Path(sys.argv[2]).absolute()
    if action == "make":
        asyncio.run(make(where))
    else:
        asyncio.run(run(where, int(sys.argv[3]) if len(sys.argv) > 3 else None))
