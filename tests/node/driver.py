"""Drives a node and its wallet through every kind of coin. Each `do_` method is a command."""

import sqlite3
import time
from pathlib import Path

from rpc import Rpc

# the second wallet's key: a public test phrase
OTHER = ("legal winner thank year wave sausage worth useful " * 3).split()[:23] + ["title"]


class Driver:
    def __init__(self, root: Path, config: dict):
        self.root = root
        self.node = Rpc(root, "full_node", config["full_node"]["rpc_port"])
        self.wallet = Rpc(root, "wallet", config["wallet"]["rpc_port"])
        self.first = self.second = None
        self.notes: dict = {}

    # --- the chain

    def peak(self) -> dict:
        return self.node("get_blockchain_state")["blockchain_state"]["peak"] or {"height": -1, "header_hash": None}

    def do_state(self) -> dict:
        peak = self.peak()
        return {"height": peak["height"], "hash": peak["header_hash"], **self.notes}

    def do_farm(self, blocks: int = 1, transactions: bool = True) -> dict:
        """Farms to the first wallet, or to a fixed address before there is one."""
        target = self.notes.get("first", {}).get("address") or FARM_ADDRESS
        self.node("farm_block", address=target, blocks=blocks, guarantee_tx_block=transactions)
        return self.do_state()

    def do_reorg(self, back: int, forward: int) -> dict:
        """Drops `back` blocks, grows `back + forward` empty ones, then farms what was dropped anew."""
        self.node("reorg_blocks", num_of_blocks_to_rev=back, num_of_new_blocks=forward)
        for _ in range(10):
            if self.node("get_blockchain_state")["blockchain_state"]["mempool_size"] == 0:
                break
            self.do_farm()
        if self.first:
            self.synced()
        return self.do_state()

    # --- wallets

    def synced(self) -> None:
        until, nudge = time.monotonic() + 120, time.monotonic() + 10
        while time.monotonic() < until:
            height = self.peak()["height"]
            if self.wallet("get_sync_status")["synced"] and self.wallet("get_height_info")["height"] >= height:
                return
            if time.monotonic() > nudge:
                # a wallet that was not ready when it was told of the peak waits for the next one
                self.do_farm()
                nudge += 10
            time.sleep(0.1)
        raise RuntimeError("the wallet did not sync")

    def login(self, fingerprint: int) -> None:
        if self.wallet("get_logged_in_fingerprint")["fingerprint"] != fingerprint:
            self.wallet("log_in", fingerprint=fingerprint)
        self.synced()

    def confirm(self, blocks: int = 1) -> None:
        """Waits until something is in the mempool, farms it, and waits until the wallet has seen it."""
        if not self.farmed_early():
            self.do_farm(blocks)
        self.synced()

    def farmed_early(self) -> bool:
        """Waits until something is in the mempool. Says whether it has been farmed already."""
        until, nudge = time.monotonic() + 180, time.monotonic() + 20
        while self.node("get_blockchain_state")["blockchain_state"]["mempool_size"] == 0:
            if time.monotonic() > until:
                raise RuntimeError("nothing reached the mempool")
            if time.monotonic() > nudge:
                # what a busy node has dropped is sent again when the wallet is told of a new peak
                block = self.do_farm()["hash"]
                if self.node("get_additions_and_removals", header_hash=block)["removals"]:
                    return True
                nudge += 20
            time.sleep(0.05)
        return False

    def do_begin(self) -> dict:
        """Makes two wallets with coins of their own."""
        self.node("farm_block", address=FARM_ADDRESS, blocks=2, guarantee_tx_block=True)
        known = self.wallet("get_public_keys")["public_key_fingerprints"]
        self.first = known[0]
        self.login(self.first)
        address = self.wallet("get_next_address", wallet_id=1, new_address=False)["address"]
        self.notes["first"] = {"fingerprint": self.first, "address": address}
        self.do_farm(6)
        self.second = self.wallet("add_key", mnemonic=OTHER)["fingerprint"] if len(known) == 1 else known[1]
        self.login(self.second)
        address = self.wallet("get_next_address", wallet_id=1, new_address=False)["address"]
        self.notes["second"] = {"fingerprint": self.second, "address": address}
        self.login(self.first)
        self.do_farm(2)
        self.synced()
        return self.do_state()

    def do_xch(self) -> dict:
        """Payments with memos and fees, many outputs, dust, a clawback."""
        self.login(self.first)
        to, own = self.notes["second"]["address"], self.notes["first"]["address"]
        self.wallet("send_transaction", wallet_id=1, amount=5_000_000_000_000, address=to, fee=1_000_000,
                    memos=["hello explorer", "a second memo"])
        self.confirm()
        outputs = [{"amount": 10_000 + i, "puzzle_hash": f"{i:064x}", "memos": [f"output {i}"]} for i in range(1, 60)]
        outputs += [{"amount": 1 + i, "puzzle_hash": f"{i + 1000:064x}"} for i in range(40)]
        outputs += [{"amount": amount, "puzzle_hash": puzzle_hash(to)} for amount in (1, 9_999, 10_000, 10_001)]
        outputs += [{"amount": 20_000 + i, "puzzle_hash": puzzle_hash(own)} for i in range(3)]
        self.wallet("send_transaction_multi", wallet_id=1, additions=outputs, fee=7)
        self.confirm()
        self.wallet("send_transaction", wallet_id=1, amount=7_000_000_000, address=to, fee=5,
                    puzzle_decorator=[{"decorator": "CLAWBACK", "clawback_timelock": 1}])
        self.confirm()
        return self.do_state()

    def do_cat(self) -> dict:
        """Issues a CAT and sends some of it."""
        self.login(self.first)
        made = self.wallet("create_new_wallet", wallet_type="cat_wallet", mode="new", amount=1_000_000, test=True,
                           name="Test CAT", fee=0)
        self.notes["cat"] = {"wallet": made["wallet_id"], "asset": made["asset_id"]}
        self.confirm()
        for amount, memo in ((1_500, "cat memo"), (70_000, "more")):
            self.wallet("cat_spend", wallet_id=made["wallet_id"], amount=amount,
                        inner_address=self.notes["second"]["address"], memos=[memo], fee=3)
            self.confirm()
        return self.do_state()

    def do_did(self) -> dict:
        """Makes a DID and changes its metadata."""
        self.login(self.first)
        made = self.wallet("create_new_wallet", wallet_type="did_wallet", did_type="new", amount=1,
                           wallet_name="did", metadata={"twitter": "nobody"})
        self.notes["did"] = {"wallet": made["wallet_id"], "id": made["my_did"]}
        self.confirm()
        self.wallet("did_update_metadata", wallet_id=made["wallet_id"], metadata={"twitter": "somebody"}, fee=1)
        self.confirm()
        return self.do_state()

    def do_nft(self) -> dict:
        """Mints NFTs with the DID and without, sends one, changes one, takes one's DID away."""
        self.login(self.first)
        own, did = self.notes["first"]["address"], self.notes["did"]["id"]
        wallet = self.wallet("create_new_wallet", wallet_type="nft_wallet", name="nfts", did_id=did)["wallet_id"]
        plain = self.wallet("create_new_wallet", wallet_type="nft_wallet", name="plain")["wallet_id"]
        self.notes["nft"] = {"wallet": wallet, "plain": plain}
        for number in range(4):
            with_did = number != 3
            self.wallet(
                "nft_mint_nft", wallet_id=wallet if with_did else plain, royalty_address=own, target_address=own,
                did_id=did if with_did else "", uris=[f"https://example.invalid/{number}.png"],
                hash="0x" + f"{number + 1:064x}", meta_uris=[f"https://example.invalid/{number}.json"],
                meta_hash="0x" + f"{number + 100:064x}", license_uris=["https://example.invalid/l.txt"],
                license_hash="0x" + "aa" * 32, edition_number=number + 1, edition_total=4, royalty_percentage=300,
                fee=1)
            self.confirm()
        held = self.held(wallet, 3)
        ids = sorted(held)
        self.wallet("nft_transfer_nft", wallet_id=wallet, target_address=self.notes["second"]["address"],
                    nft_coin_id=held[ids[0]]["nft_coin_id"], fee=2)
        self.confirm()
        self.wallet("nft_add_uri", wallet_id=wallet, uri="https://example.invalid/more.png", key="u",
                    nft_coin_id=held[ids[1]]["nft_coin_id"])
        self.confirm()
        held = self.held(wallet, 2)
        self.wallet("nft_set_nft_did", wallet_id=wallet, nft_coin_id=held[ids[1]]["nft_coin_id"], fee=1)
        self.confirm()
        return self.do_state()

    def held(self, wallet: int, at_least: int) -> dict:
        until = time.monotonic() + 60
        while time.monotonic() < until:
            nfts = {nft["nft_id"]: nft for nft in self.wallet("nft_get_nfts", wallet_id=wallet)["nft_list"]}
            if len(nfts) >= at_least and not any(nft["pending_transaction"] for nft in nfts.values()):
                return nfts
            time.sleep(0.1)
        raise RuntimeError(f"the wallet holds fewer than {at_least} NFTs")

    def do_offers(self) -> dict:
        """The first wallet sells a CAT and an NFT for XCH, and buys CAT; the second takes all three."""
        self.login(self.first)
        cat, nft_wallet = self.notes["cat"], self.notes["nft"]["wallet"]
        sold_cat = self.wallet("create_offer_for_ids", offer={str(cat["wallet"]): "-1000", "1": "2000000000"}, fee=0)
        nft = next(iter(self.held(nft_wallet, 1).values()))
        sold_nft = self.wallet(
            "create_offer_for_ids", fee=0,
            offer={nft["launcher_id"].removeprefix("0x"): "-1", "1": "3000000000000"},
            driver_dict={nft["launcher_id"]: nft_driver(nft)})
        self.login(self.second)
        for offer in (sold_cat, sold_nft):
            self.wallet("take_offer", offer=offer["offer"], fee=1)
            self.confirm()
            self.do_farm()
        wallets = self.wallet("get_wallets")["wallets"]
        theirs = next(wallet["id"] for wallet in wallets if wallet["type"] == 6)
        bought_cat = self.wallet("create_offer_for_ids", offer={str(theirs): "-250", "1": "1000000000"}, fee=0)
        self.login(self.first)
        self.wallet("take_offer", offer=bought_cat["offer"], fee=1)
        self.confirm()
        return self.do_state()

    def do_did_moves(self) -> dict:
        """Sends the DID to the other wallet."""
        self.login(self.first)
        self.wallet("did_transfer_did", wallet_id=self.notes["did"]["wallet"],
                    inner_address=self.notes["second"]["address"], fee=1)
        self.confirm()
        return self.do_state()

    def do_singletons(self) -> dict:
        """Makes singletons that are neither NFT nor DID: a data store, a credential, a plot NFT. Burns an NFT."""
        self.login(self.first)
        store = self.wallet("create_new_dl", root="0x" + "11" * 32, fee=1)["launcher_id"]
        self.confirm()
        self.wallet("dl_update_root", launcher_id=store, new_root="0x" + "22" * 32, fee=1)
        self.confirm()
        self.wallet("vc_mint", did_id=self.notes["did"]["id"], target_address=self.notes["second"]["address"], fee=1)
        self.confirm()
        self.wallet("create_new_wallet", wallet_type="pool_wallet", mode="new", fee=1,
                    initial_target_state={"state": "SELF_POOLING"})
        self.confirm()
        nft = next(iter(self.held(self.notes["nft"]["plain"], 1).values()))
        self.wallet("nft_transfer_nft", wallet_id=self.notes["nft"]["plain"], target_address=address(BURN),
                    nft_coin_id=nft["nft_coin_id"], fee=1)
        self.confirm()
        return self.do_state()

    def do_claim(self) -> dict:
        """The second wallet claims the clawback."""
        self.login(self.second)
        self.do_farm(3)
        self.synced()
        coins = self.wallet("get_coin_records", coin_type=1, wallet_type=0)["coin_records"]
        ids = [coin["id"] for coin in coins if coin["spent_height"] == 0]
        if ids:
            self.wallet("spend_clawback_coins", coin_ids=ids, fee=1, force=True)
            self.confirm()
        return self.do_state()

    def do_everything(self) -> dict:
        for stage in (self.do_begin, self.do_xch, self.do_cat, self.do_did, self.do_nft, self.do_singletons,
                      self.do_offers, self.do_did_moves, self.do_claim):
            stage()
        return self.do_state()

    def do_balances(self) -> dict:
        """What each wallet says it has, and the puzzle hashes that are its own."""
        found = {}
        for name in ("first", "second"):
            fingerprint = self.notes[name]["fingerprint"]
            self.login(fingerprint)
            cats = {}
            for wallet in self.wallet("get_wallets")["wallets"]:
                if wallet["type"] == 6:
                    balance = self.wallet("get_wallet_balance", wallet_id=wallet["id"])["wallet_balance"]
                    asset = self.wallet("cat_get_asset_id", wallet_id=wallet["id"])["asset_id"]
                    cats[asset.removeprefix("0x")] = balance["confirmed_wallet_balance"]
            xch = self.wallet("get_wallet_balance", wallet_id=1)["wallet_balance"]["confirmed_wallet_balance"]
            found[name] = {"xch": xch, "cats": cats, "puzzle_hashes": self.derived(fingerprint)}
        return found

    def derived(self, fingerprint: int) -> list[str]:
        path = next((self.root / "wallet" / "db").glob(f"*_{fingerprint}.sqlite"))
        with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as database:
            rows = database.execute("SELECT DISTINCT puzzle_hash FROM derivation_paths WHERE wallet_type = 0")
            return [row[0] for row in rows]


FARM_ADDRESS = "txch1a6cd558gqsz2hch5pt0l8mx7zhavf32q5lyde09zjtqcmkelr9nsez3en5"


BURN = "00" * 30 + "dead"


def puzzle_hash(address: str) -> str:
    from chia.util.bech32m import decode_puzzle_hash

    return decode_puzzle_hash(address).hex()


def address(puzzle_hash: str) -> str:
    from chia.util.bech32m import encode_puzzle_hash

    return encode_puzzle_hash(bytes.fromhex(puzzle_hash), "txch")


def nft_driver(nft: dict) -> dict:
    royalty = {
        "type": "royalty transfer program", "launcher_id": nft["launcher_id"],
        "royalty_address": nft["royalty_puzzle_hash"], "royalty_percentage": str(nft["royalty_percentage"]),
    }
    return {
        "type": "singleton", "launcher_id": nft["launcher_id"], "launcher_ph": nft["launcher_puzhash"],
        "also": {
            "type": "metadata", "metadata": nft["chain_info"], "updater_hash": nft["updater_puzhash"],
            "also": {"type": "ownership", "owner": nft["owner_did"] or "()", "transfer_program": royalty},
        },
    }
