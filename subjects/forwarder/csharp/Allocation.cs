using System;
using System.Collections.Generic;

namespace Forwarder
{
    /// <summary>What FORWARDER_ALLOCATE has a forwarder do with its heap, so that there is something to collect.</summary>
    internal sealed class Allocation
    {
        private readonly string kind;
        private readonly PacketObject[] objects;

        private Allocation(string kind, int batch)
        {
            this.kind = kind;
            objects = new PacketObject[batch];
            for (int n = 0; n < batch; n++)
            {
                objects[n] = new PacketObject();
            }
        }

        /// <summary>Null for a forwarder that allocates nothing.</summary>
        public static Allocation Of(string kind, int batch)
        {
            switch (string.IsNullOrEmpty(kind) ? "none" : kind)
            {
                case "none":
                    return null;
                case "batch":
                case "packet":
                case "kept":
                    return new Allocation(kind, batch);
                default:
                    throw new ArgumentException("FORWARDER_ALLOCATE: expected none, batch, packet or kept, found " + kind);
            }
        }

        /// <summary>Puts so many received packets on the heap, and what is found there back.</summary>
        public void Place(Packet[] packets, int number)
        {
            if (kind == "batch")
            {
                var grown = new List<Packet>();
                for (int n = 0; n < number; n++)
                {
                    grown.Add(packets[n]);
                }

                grown.CopyTo(packets);
                return;
            }

            bool isKept = kind == "kept";
            for (int n = 0; n < number; n++)
            {
                if (!isKept)
                {
                    objects[n] = new PacketObject();
                }

                objects[n].Packet = packets[n];
            }

            for (int n = 0; n < number; n++)
            {
                packets[n] = objects[n].Packet;
            }
        }

        /// <summary>A packet as an object, which the collector follows.</summary>
        private sealed class PacketObject
        {
            public Packet Packet;
        }
    }
}
