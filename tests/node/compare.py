"""Compares what a service answers with an independent reading of the node's database.

    compare.py URL DATABASE [--hf2 HEIGHT] [--balances FILE]

Prints how much was compared as one JSON object, and every difference on a line of its own. Exits with 1 if there is
any.
"""

import argparse
import json
import sys
import urllib.error
import urllib.request
from collections import defaultdict
from datetime import UTC, datetime

from lab import constants
from reading import DUST, Reading

from chia.util.bech32m import bech32_encode, convertbits, encode_puzzle_hash


class Service:
    def __init__(self, url: str):
        self.url, self.as_of = url, None

    def get(self, path: str) -> dict:
        with urllib.request.urlopen(self.url + path, timeout=30) as answer:
            as_of = int(answer.headers["x-as-of-height"]), answer.headers["x-as-of-hash"]
            if self.as_of is not None and self.as_of != as_of:
                raise SystemExit(f"the service moved from {self.as_of} to {as_of} while it was compared")
            self.as_of = as_of
            return json.loads(answer.read(), parse_float=str)

    def pages(self, path: str, cursor: str, key: str) -> list[dict]:
        """All items of one list, page by page, checking the cursors and counts on the way."""
        found, at, total = [], None, None
        while True:
            page = self.get(f"{path}&{cursor}={at or 0}")[key]
            total = total if page["total_count"] is None else page["total_count"]
            found += page["transactions"]
            if at is not None and page["next_cursor"] is not None and page["next_cursor"] >= at:
                raise SystemExit(f"{path}: the cursor does not fall: {at} -> {page['next_cursor']}")
            at = page["next_cursor"]
            if at is None:
                if total != len(found):
                    raise SystemExit(f"{path}: {len(found)} items, but total_count is {total}")
                return found


def address(puzzle_hash: bytes) -> str:
    return encode_puzzle_hash(puzzle_hash, "txch")


def bech32m(prefix: str, data: bytes) -> str:
    return bech32_encode(prefix, convertbits(data, 8, 5))


def iso(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")


def decimal(mojos: int, places: int) -> str:
    whole, rest = divmod(mojos, 10**places)
    return f"{whole}.{rest:0{places}}".rstrip("0").rstrip(".") if rest else str(whole)


def text(memos: list[bytes]) -> str | None:
    for memo in memos:
        try:
            found = memo.decode()
        except UnicodeDecodeError:
            continue
        if found and not any(ord(c) < 32 or 127 <= ord(c) < 160 for c in found):
            return found
    return None


class Comparison:
    def __init__(self, service: Service, reading: Reading):
        self.service, self.reading = service, reading
        self.differences: list[str] = []
        self.compared: dict[str, int] = defaultdict(int)
        self.owned = defaultdict(list)
        self.received = defaultdict(list)
        for coin in reading.coins.values():
            self.owned[coin.owner].append(coin)
            if not coin.passing and coin.sender != coin.owner:
                self.received[coin.owner].append(coin)

    def expect(self, what: str, found, expected) -> None:
        self.compared[what.split()[0]] += 1
        if found != expected:
            self.differences.append(f"{what}: found {found!r}, expected {expected!r}")

    def run(self) -> None:
        owners = set(self.owned) | set(self.reading.sent)
        for owner in sorted(owners):
            self.balances(owner)
            self.lists(owner)
            self.coins(owner)
        self.expect("as-of", self.service.as_of, (self.reading.height, self.reading.hash.hex()))
        self.compared["owners"] = len(owners)
        self.compared["coins"] = len(self.reading.coins)

    def balances(self, owner: bytes) -> None:
        at = address(owner)
        unspent = [coin for coin in self.owned[owner] if coin.spent is None]
        xch = sum(coin.amount for coin in unspent if coin.kind in ("STND", "SETL"))
        dust = sum(coin.amount for coin in unspent if coin.kind in ("STND", "SETL") and coin.amount < DUST)
        for flag, mojos in (("false", xch - dust), ("true", xch)):
            found = self.service.get(f"/address/xch-balance/{at}?include_dust={flag}")
            self.expect(f"xch-balance {at} {flag}", (found["mojo"], str(found["xch"])), (mojos, decimal(mojos, 12)))
        cats = defaultdict(int)
        for coin in unspent:
            if coin.kind == "CAT":
                cats[coin.asset.hex()] += coin.amount
        expected = [(asset, bech32m("tkn", bytes.fromhex(asset)), decimal(cats[asset], 3)) for asset in sorted(cats)]
        found = self.service.get(f"/address/token-balance/{at}")
        for key in ("balance", "data"):
            items = [(item["asset_id"], item["token_id"], str(item["balance"])) for item in found[key]]
            self.expect(f"token-balance {at} {key}", items, expected)
        nfts = sorted((bech32m("nft", coin.asset) for coin in unspent if coin.kind == "NFT"))
        found = [item["nft_id"] for item in self.service.get(f"/address/nft-balance/{at}")["balance"]]
        self.expect(f"nft-balance {at}", sorted(found), nfts)
        combined = self.service.get(f"/address/balance/{at}")
        flows = {
            "received": sum(c.amount for c in self.received[owner] if c.kind in ("STND", "SETL") and c.amount >= DUST),
            "sent": sum(c.amount for _, c in self.reading.sent[owner]
                        if c.kind in ("STND", "SETL") and c.amount >= DUST),
            "balance": xch - dust,
        }
        self.expect(f"balance {at}", {key: combined["data"][key]["mojo"] for key in flows}, flows)
        self.expect(f"balance {at} nfts", combined["nft_balance"]["count"], len(nfts))

    def lists(self, owner: bytes) -> None:
        at = address(owner)
        sent = [coin for _, coin in self.reading.sent[owner]]
        xch = lambda dust: lambda coin: coin.kind in ("STND", "SETL") and (coin.amount < DUST) == dust
        cat, nft = (lambda coin: coin.kind == "CAT"), (lambda coin: coin.kind == "NFT")
        flags = "include_send_dust=true&include_received_dust=true&count=7"
        for endpoint, query, side, pick in (
            ("xch-transaction", flags, "", xch(False)),
            ("xch-transaction", flags, "_dust", xch(True)),
            ("token-transaction", "count=3", "", cat),
            ("nft-transaction", "count=2", "", nft),
        ):
            path = f"/address/{endpoint}/{at}?{query}"
            for name, coins, other in (("send", sent, "to"), ("received", self.received[owner], "from")):
                found = self.service.pages(path, f"{name}{side}_cursor", f"{name}{side}_transactions")
                heights = [item["height"] for item in found]
                self.expect(f"{endpoint} {at} {name}{side} order", heights, sorted(heights, reverse=True))
                expected = [self.item(coin, other) for coin in coins if pick(coin)]
                self.expect(f"{endpoint} {at} {name}{side}", canonical(found), canonical(expected))

    def item(self, coin, other: str) -> dict:
        party = coin.owner if other == "to" else coin.sender
        item = {
            "coin_id": coin.id.hex(), "time": iso(coin.time), "height": coin.created,
            other: address(party) if party is not None else None,
            "memo": [memo.hex() for memo in coin.memos] or None,
        }
        if coin.kind == "CAT":
            token = {"token_amount": decimal(coin.amount, 3), "asset_id": coin.asset.hex(),
                     "token_id": bech32m("tkn", coin.asset)}
            return item | token
        if coin.kind == "NFT":
            return item | {"nft_id": bech32m("nft", coin.asset)}
        return item | {"amount_xch": decimal(coin.amount, 12), "amount_mojo": coin.amount}

    def coins(self, owner: bytes) -> None:
        at = address(owner)
        data = self.service.get(f"/address/transactions/{at}")["data"]
        self.expect(f"transactions {at} rowCount", data["rowCount"], len(self.owned[owner]))
        found = {coin["coin_name"]: coin for coin in data["coins"]}
        heights = [int(coin["confirmed_block"]) for coin in data["coins"]]
        self.expect(f"transactions {at} order", heights, sorted(heights, reverse=True))
        types = {"STND": "NAN", "SETL": "NAN", "SNGL": "OTHER"}
        for coin in self.owned[owner]:
            txn = bech32m("txn", coin.txn) if coin.txn else None
            expected = {
                "coin_name": coin.id.hex(), "confirmed_block": str(coin.created), "parent_coin": coin.parent.hex(),
                "spend_block": None if coin.spent is None else str(coin.spent),
                "coin_mod": coin.kind, "owner_address": at, "confirmed_time": iso(coin.time),
                "spend_time": None if coin.spent is None else iso(coin.spent_time),
                "from_address": address(coin.sender) if coin.sender else None, "memo": text(coin.memos),
                "amount": decimal(coin.amount, 3 if coin.kind == "CAT" else 12), "amount_mojo": str(coin.amount),
                "timestamp": coin.time, "id": txn, "coinbase": coin.sender is None, "confirmed_txn_id": txn,
                "spend_txn_id": bech32m("txn", coin.spent_txn) if coin.spent_txn else None,
                "type": types.get(coin.kind, coin.kind),
            }
            answered = found.get(coin.id.hex())
            if answered is None and len(data["coins"]) == 1000:
                continue
            kind = (answered or {}).pop("spend_txn_type", None)
            self.expect(f"transactions {at} {coin.id.hex()}", answered, expected)
            self.expect(f"transactions {coin.id.hex()} spend_txn_type", kind is None, coin.spent is None)

    def node(self, path: str) -> None:
        """The reading itself against the node's own coin table."""
        import sqlite3

        with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as database:
            rows = {row[0]: row[1:] for row in database.execute(
                "SELECT coin_name, confirmed_index, spent_index, coinbase, puzzle_hash, coin_parent, amount "
                "FROM coin_record")}
        self.expect("coin_record count", len(self.reading.coins), len(rows))
        for coin in self.reading.coins.values():
            confirmed, spent, coinbase, puzzle_hash, parent, amount = rows.get(coin.id, (None,) * 6)
            found = (coin.created, coin.spent or 0, coin.sender is None, coin.puzzle_hash, coin.parent, coin.amount)
            expected = (confirmed, max(spent or 0, 0), bool(coinbase), puzzle_hash, parent,
                        int.from_bytes(amount or b"", "big"))
            self.expect(f"coin_record {coin.id.hex()}", found, expected)

    def wallets(self, balances: dict) -> None:
        """What wallets report against the sums over their own addresses."""
        for name, wallet in balances.items():
            own = [bytes.fromhex(hash) for hash in wallet["puzzle_hashes"]]
            unspent = [coin for owner in own for coin in self.owned.get(owner, []) if coin.spent is None]
            xch = sum(coin.amount for coin in unspent if coin.kind == "STND")
            self.expect(f"wallet {name} xch", xch, wallet["xch"])
            for asset, balance in wallet["cats"].items():
                found = sum(coin.amount for coin in unspent if coin.kind == "CAT" and coin.asset.hex() == asset)
                self.expect(f"wallet {name} {asset}", found, balance)


def canonical(items: list[dict]) -> list[str]:
    for item in items:
        for key in ("amount_xch", "token_amount"):
            if key in item:
                item[key] = str(item[key])
    return sorted(json.dumps(item, sort_keys=True) for item in items)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("url")
    parser.add_argument("database")
    parser.add_argument("--hf2", type=int)
    parser.add_argument("--balances")
    options = parser.parse_args()
    reading = Reading.of_database(options.database, constants(options.hf2))
    comparison = Comparison(Service(options.url), reading)
    comparison.node(options.database)
    comparison.run()
    if options.balances:
        with open(options.balances) as file:
            comparison.wallets(json.load(file))
    print(json.dumps(comparison.compared))
    for difference in comparison.differences:
        print(difference)
    sys.exit(1 if comparison.differences else 0)


if __name__ == "__main__":
    try:
        main()
    except urllib.error.HTTPError as error:
        raise SystemExit(f"{error.url}: {error.code} {error.read()[:500]}") from error
