"""Follows the coins topic through reorgs. At each watermark, prints the coins of a partition that were created and are
not void.

    follow.py BROKERS TOPIC DESCRIPTORS

DESCRIPTORS is proto/src/generated/descriptors.bin.
"""

import json
import sys

from confluent_kafka import Consumer, TopicPartition
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

brokers, topic, descriptors = sys.argv[1:]
pool = descriptor_pool.DescriptorPool()
with open(descriptors, "rb") as file:
    for proto in descriptor_pb2.FileDescriptorSet.FromString(file.read()).file:
        pool.Add(proto)
Record = message_factory.GetMessageClass(pool.FindMessageTypeByName("mojoscan.coins.v1.CoinsRecord"))


class Partition:
    """What is known of a partition. A consumer with a database keeps all of this there, and the offset with it."""

    def __init__(self):
        self.seq, self.block, self.coins, self.open = 0, None, [], []

    def take(self, record):
        if record.seq <= self.seq:
            return None  # a repeat
        assert record.seq == self.seq + 1, f"{record.seq} behind {self.seq}: records are lost"
        self.seq = record.seq
        match record.WhichOneof("record"):
            case "event":
                self.open.append(record.event)
            case "watermark":
                mark = record.watermark
                previous = mark.previous if mark.HasField("previous") else None
                assert previous == self.block, f"a watermark behind {previous} where {self.block} is"
                self.coins += [event for event in self.open if event.HasField("created")]
                self.open, self.block = [], mark.block
                return mark.block
            case "rewind":
                self.block = record.rewind.to if record.rewind.HasField("to") else None
                height = self.block.height if self.block else -1
                self.coins = [event for event in self.coins if event.block.height <= height]
        return None


consumer = Consumer({"bootstrap.servers": brokers, "group.id": "follow", "isolation.level": "read_committed",
                     "enable.auto.commit": False, "auto.offset.reset": "error"})
partitions = {number: Partition() for number in consumer.list_topics(topic, 10).topics[topic].partitions}
consumer.assign([TopicPartition(topic, number, 0) for number in partitions])
while True:
    message = consumer.poll()
    if message.error():
        sys.exit(str(message.error()))
    partition = partitions[message.partition()]
    if block := partition.take(Record.FromString(message.value())):
        coins = [event.created.coin.id.hex() for event in partition.coins]
        print(json.dumps({"partition": message.partition(), "block": block.hash.hex(), "coins": coins}), flush=True)
