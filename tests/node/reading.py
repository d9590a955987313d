"""An independent reading of a chain: who owns what, who paid whom, by the rules of the public interface.

It reads a node's database with the node's own code, keeps all coins in memory, and takes no short cuts: every inner
puzzle is run, and the owner of a spent coin is looked up, not guessed.
"""

import hashlib
import sqlite3
from collections import defaultdict
from dataclasses import dataclass, field

import zstd
from chia_puzzles_py.programs import (
    CAT_PUZZLE_HASH, DID_INNERPUZ_HASH, NFT_OWNERSHIP_LAYER_HASH, NFT_STATE_LAYER_HASH, REVOCATION_LAYER_HASH,
    SETTLEMENT_PAYMENT_HASH, SINGLETON_LAUNCHER_HASH, SINGLETON_TOP_LAYER_HASH, SINGLETON_TOP_LAYER_V1_1_HASH,
)
from chia_rs import FullBlock, Program as Serialized, get_flags_for_height_and_constants, get_spends_for_trusted_block

from chia.types.blockchain_format.coin import Coin as ChiaCoin
from chia.types.blockchain_format.program import Program
from chia.wallet.util.curry_and_treehash import calculate_hash_of_quoted_mod_hash, curry_and_treehash, shatree_atom

OLD_SETTLEMENT = bytes.fromhex("bae24162efbd568f89bc7a340798a6118df0189eb9e3f8697bcea27af99f8f79")
CAT1 = bytes.fromhex("72dec062874cd4d3aab892a0906688a1ae412b0109982e1797a170add88bdcdc")
SETTLEMENTS = {bytes(SETTLEMENT_PAYMENT_HASH), OLD_SETTLEMENT}
SINGLETONS = {bytes(SINGLETON_TOP_LAYER_HASH), bytes(SINGLETON_TOP_LAYER_V1_1_HASH)}
DUST = 10_000
MEMOS_MAX, MEMO_BYTES_MAX = 64, 16 * 1024


@dataclass
class Coin:
    id: bytes
    parent: bytes
    puzzle_hash: bytes
    amount: int
    created: int
    time: int
    owner: bytes
    kind: str = "STND"
    asset: bytes | None = None
    memos: list[bytes] = field(default_factory=list)
    sender: bytes | None = None
    txn: bytes | None = None
    spent: int | None = None
    spent_time: int | None = None
    spent_txn: bytes | None = None
    passing: bool = False
    number: int = 0


@dataclass
class Spend:
    coin: Coin
    puzzle: Program
    solution: Program
    conditions: list[list]
    children: list[Coin] = field(default_factory=list)


def tree(program: Program) -> bytes:
    return bytes(program.get_tree_hash())


def curried(module: bytes, *hashes: bytes) -> bytes:
    return bytes(curry_and_treehash(calculate_hash_of_quoted_mod_hash(module), *hashes))


def uncurry(puzzle: Program) -> tuple[bytes, list[Program]]:
    module, arguments = puzzle.uncurry()
    return tree(module), list(arguments.as_iter())


def flat_memos(memos: Program) -> list[bytes]:
    found, size = [], 0

    def walk(items: Program) -> bool:
        nonlocal size
        while items.pair is not None:
            item, items = items.first(), items.rest()
            if item.pair is not None:
                if not walk(item):
                    return False
                continue
            size += len(item.atom)
            if len(found) == MEMOS_MAX or size > MEMO_BYTES_MAX:
                return False
            found.append(bytes(item.atom))
        return True

    walk(memos)
    return found


def as_int(atom: bytes) -> int:
    return int.from_bytes(atom, "big", signed=True)


def run(puzzle: Program, solution: Program) -> list[list]:
    """The conditions of a puzzle: opcode first, arguments as programs."""
    output = puzzle.run(solution)
    return [list(condition.as_iter()) for condition in output.as_iter()]


def creates(conditions: list[list]) -> list[tuple[bytes, int, Program]]:
    found = []
    for condition in conditions:
        if condition[0].atom == b"\x33" and condition[2].atom != b"\x8f":
            memos = condition[3] if len(condition) > 3 else Program.to(0)
            found.append((bytes(condition[1].atom), as_int(condition[2].atom), memos))
    return found


class Reading:
    def __init__(self, constants):
        self.constants = constants
        self.coins: dict[bytes, Coin] = {}
        self.sent: dict[bytes, list[tuple[int, Coin]]] = defaultdict(list)
        self.height, self.hash = None, None
        self.previous_transaction_height = 0

    @classmethod
    def of_database(cls, path: str, constants, height: int | None = None) -> "Reading":
        reading = cls(constants)
        with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as database:
            rows = database.execute(
                "SELECT height, header_hash, block FROM full_blocks WHERE in_main_chain = 1 ORDER BY height")
            for row_height, header_hash, block in rows:
                if height is not None and row_height > height:
                    break
                reading.block(row_height, header_hash, FullBlock.from_bytes(zstd.decompress(block)))
        return reading

    def block(self, height: int, header_hash: bytes, block: FullBlock) -> None:
        self.height, self.hash = height, header_hash
        if block.foliage_transaction_block is None:
            return
        time = int(block.foliage_transaction_block.timestamp)
        new: list[Coin] = []
        for reward in block.transactions_info.reward_claims_incorporated:
            puzzle_hash = bytes(reward.puzzle_hash)
            kind = "SETL" if puzzle_hash in SETTLEMENTS else "STND"
            new.append(Coin(bytes(reward.name()), bytes(reward.parent_coin_info), puzzle_hash, int(reward.amount),
                            height, time, puzzle_hash, kind))
        spends = self.spends(block, height)
        by_id = {spend.coin_id: spend for spend in spends}
        created: dict[bytes, Coin] = {coin.id: coin for coin in new}
        for spend in spends:
            for child in self.children(spend, height, time):
                created[child.id] = child
                spend.children.append(child)
                new.append(child)
        for coin in new:
            assert coin.id not in self.coins, "a coin created twice"
            self.coins[coin.id] = coin
        self.settle(spends, by_id, created, height, time)
        self.previous_transaction_height = height

    def spends(self, block: FullBlock, height: int) -> list:
        generator = block.transactions_generator
        generator = bytes(generator) if generator is not None else block.transactions_generator_buffer
        if generator is None:
            return []
        assert not block.transactions_generator_ref_list, "this reader knows no older generators"
        flags = get_flags_for_height_and_constants(self.previous_transaction_height, self.constants)
        found, generator = [], Serialized.from_bytes(generator)
        for spend in get_spends_for_trusted_block(self.constants, generator, [], flags)["block_spends"]:
            puzzle, solution = Program.from_bytes(bytes(spend.puzzle_reveal)), Program.from_bytes(bytes(spend.solution))
            assert tree(puzzle) == bytes(spend.coin.puzzle_hash)
            entry = Spend(None, puzzle, solution, run(puzzle, solution))
            entry.chia = spend.coin
            entry.coin_id = bytes(spend.coin.name())
            found.append(entry)
        return found

    # --- what a spend proves about the coins it makes

    def children(self, spend: Spend, height: int, time: int):
        classify = self.classifier(spend)
        for puzzle_hash, amount, memos in creates(spend.conditions):
            kind, asset, owner = classify(puzzle_hash, amount, memos)
            id = bytes(ChiaCoin(spend.coin_id, puzzle_hash, amount).name())
            yield Coin(id, spend.coin_id, puzzle_hash, amount, height, time, owner, kind, asset, flat_memos(memos))

    def classifier(self, spend: Spend):
        def plain(puzzle_hash, amount=None, memos=None):
            return ("SETL" if puzzle_hash in SETTLEMENTS else "STND"), None, puzzle_hash

        module, arguments = uncurry(spend.puzzle)
        if module in (bytes(CAT_PUZZLE_HASH), CAT1) and len(arguments) == 3 and arguments[0].atom == module:
            return self.cat_classifier(spend, module, arguments, plain)
        if module in SINGLETONS and len(arguments) == 2:
            structure, inner = arguments
            if structure.pair and structure.first().atom == module and structure.rest().pair:
                launcher, launcher_hash = structure.rest().first().atom, structure.rest().rest().atom
                if launcher_hash == bytes(SINGLETON_LAUNCHER_HASH) and launcher is not None and len(launcher) == 32:
                    return self.singleton_classifier(spend, module, structure, bytes(launcher), inner, plain)
        return plain

    def cat_classifier(self, spend, module, arguments, plain):
        asset, inner = arguments[1].atom, arguments[2]
        if asset is None or len(asset) != 32:
            return plain
        asset = bytes(asset)
        inner_solution = spend.solution.first()

        def outer(inner_hash: bytes) -> bytes:
            return curried(module, shatree_atom(module), shatree_atom(asset), inner_hash)

        owners = {}
        for puzzle_hash, _, memos in creates(run(inner, inner_solution)):
            owners[outer(puzzle_hash)] = puzzle_hash
        inner_module, inner_arguments = uncurry(inner)
        if inner_module == bytes(REVOCATION_LAYER_HASH) and inner_arguments[0].atom == inner_module:
            hidden = bytes(inner_arguments[1].atom)

            def layer(owner: bytes) -> bytes:
                return curried(inner_module, shatree_atom(inner_module), shatree_atom(hidden), shatree_atom(owner))

            puzzle, solution = inner_solution.rest().first(), inner_solution.rest().rest().first()
            for puzzle_hash, _, memos in creates(run(puzzle, solution)):
                if outer(layer(puzzle_hash)) in owners:
                    owners[outer(layer(puzzle_hash))] = puzzle_hash
                hints = flat_memos(memos)
                if hints and len(hints[0]) == 32 and layer(hints[0]) == puzzle_hash:
                    owners[outer(puzzle_hash)] = hints[0]

        def classify(puzzle_hash, amount, memos):
            owner = owners.get(puzzle_hash)
            return plain(puzzle_hash) if owner is None else ("CAT", asset, owner)

        return classify

    def singleton_classifier(self, spend, module, structure, launcher, inner, plain):
        v1_1 = module == bytes(SINGLETON_TOP_LAYER_V1_1_HASH)
        inner_solution = spend.solution.rest().rest().first()
        inner_module, inner_arguments = uncurry(inner)

        def other(puzzle_hash, amount, memos):
            return ("SNGL", launcher, puzzle_hash) if amount % 2 else plain(puzzle_hash)

        if v1_1 and inner_module == bytes(NFT_STATE_LAYER_HASH) and len(inner_arguments) == 4:
            ownership = inner_arguments[3]
            ownership_module, ownership_arguments = uncurry(ownership)
            genuine = (inner_arguments[0].atom == inner_module and len(ownership_arguments) == 4
                       and ownership_module == bytes(NFT_OWNERSHIP_LAYER_HASH)
                       and ownership_arguments[0].atom == ownership_module)
            if genuine:
                p2, p2_solution = ownership_arguments[3], inner_solution.first().first()
                odd = [made for made in creates(run(p2, p2_solution)) if made[1] % 2]
                if odd:
                    owner = odd[0][0]
                    return lambda ph, amount, memos: ("NFT", launcher, owner) if amount % 2 else plain(ph)
        if v1_1 and inner_module == bytes(DID_INNERPUZ_HASH) and len(inner_arguments) == 5:
            if tree(inner_arguments[3]) == tree(structure):
                unchanged = [tree(argument) for argument in inner_arguments[1:]]

                def did(puzzle_hash, amount, memos):
                    if amount % 2 == 0:
                        return plain(puzzle_hash)
                    hint = memos.first().atom if memos.pair else None
                    if hint is not None and len(hint) == 32:
                        made = curried(inner_module, bytes(hint), *unchanged)
                        if curried(module, tree(structure), made) == puzzle_hash:
                            return "DID", launcher, bytes(hint)
                    return "DID", launcher, puzzle_hash

                return did
        return other

    # --- who paid whom

    def settle(self, spends, by_id, created, height, time):
        groups = transactions(spends, by_id)
        for spend in spends:
            spend.coin = self.coins[spend.coin_id]
            assert spend.coin.spent is None, "a coin spent twice"
            spend.coin.spent, spend.coin.spent_time = height, time
            spend.coin.spent_txn = groups[spend.coin_id]
        for coin in created.values():
            coin.passing = coin.owner in SETTLEMENTS and coin.id in by_id
        for spend in spends:
            payer = spend
            while payer.coin.passing and payer.coin.parent in by_id:
                payer = by_id[payer.coin.parent]
            for child in spend.children:
                child.sender, child.txn = payer.coin.owner, groups[spend.coin_id]
        for spend in spends:
            if not spend.coin.passing:
                self.pay(spend.coin.owner, spend.children, by_id, height)

    def pay(self, payer, children, by_id, height):
        for child in children:
            if child.passing:
                self.pay(payer, by_id[child.id].children, by_id, height)
            elif child.owner != payer:
                self.sent[payer].append((height, child))


def transactions(spends, by_id) -> dict[bytes, bytes]:
    """For each coin spent, the id of the transaction that spends it."""
    parents = {spend.coin_id: spend.coin_id for spend in spends}

    def root(id):
        while parents[id] != id:
            id = parents[id]
        return id

    def join(a, b):
        parents[root(a)] = root(b)

    givers, takers = defaultdict(list), []
    for spend in spends:
        id, puzzle_hash = spend.coin_id, bytes(spend.chia.puzzle_hash)
        if bytes(spend.chia.parent_coin_info) in by_id:
            join(id, bytes(spend.chia.parent_coin_info))
        for code, *arguments in spend.conditions:
            code = as_int(code.atom) if code.atom is not None else None
            if code == 60:
                givers[hashlib.sha256(id + arguments[0].atom).digest()].append(id)
            elif code == 62:
                givers[hashlib.sha256(puzzle_hash + arguments[0].atom).digest()].append(id)
            elif code in (61, 63):
                takers.append((bytes(arguments[0].atom), id))
            elif code == 64 and bytes(arguments[0].atom) in by_id:
                join(id, bytes(arguments[0].atom))
            elif code == 65:
                for other in spends:
                    if bytes(other.chia.puzzle_hash) == arguments[0].atom:
                        join(id, other.coin_id)
            elif code in (66, 67):
                mode, message = as_int(arguments[0].atom), bytes(arguments[1].atom)
                own = commitment(spend.chia, mode >> 3 if code == 66 else mode & 7)
                other = tuple(bytes(argument.atom) for argument in arguments[2:])
                key = (mode, message, own, other) if code == 66 else (mode, message, other, own)
                if code == 66:
                    givers[key].append(id)
                else:
                    takers.append((key, id))
    for key, taker in takers:
        for giver in givers[key]:
            join(taker, giver)
    members = defaultdict(list)
    for id in parents:
        members[root(id)].append(id)
    hashes = {at: hashlib.sha256(b"".join(sorted(ids))).digest() for at, ids in members.items()}
    return {id: hashes[root(id)] for id in parents}


def commitment(coin, mode: int) -> tuple[bytes, ...]:
    if mode == 7:
        return (bytes(coin.name()),)
    parts = []
    if mode & 4:
        parts.append(bytes(coin.parent_coin_info))
    if mode & 2:
        parts.append(bytes(coin.puzzle_hash))
    if mode & 1:
        amount = int(coin.amount)
        parts.append(amount.to_bytes((amount.bit_length() + 8) // 8, "big", signed=True) if amount else b"")
    return tuple(parts)
