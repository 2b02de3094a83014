// Forwards frames between two ports, both ways: Forwarder ADDRESS ADDRESS. README.md one directory up describes the options,
// which are the same in every language.
using System;
using System.Globalization;

namespace Forwarder
{
    internal static class Program
    {
        /// <summary>The touched byte of a forwarder that touches none.</summary>
        private const int NoTouch = -1;

        public static int Main(string[] arguments)
        {
            try
            {
                Run(arguments);
                return 0;
            }
            catch (Exception error)
            {
                Console.Error.WriteLine("forwarder: " + error.Message);
                return 1;
            }
        }

        private static void Run(string[] arguments)
        {
            if (arguments.Length != 2)
            {
                throw new ArgumentException("usage: Forwarder ADDRESS ADDRESS");
            }

            string kind = Environment.GetEnvironmentVariable("FORWARDER_POOL") ?? "stack";
            if (kind != "stack" && kind != "ring")
            {
                throw new ArgumentException("FORWARDER_POOL: expected stack or ring, found " + kind);
            }

            int batch = Number("FORWARDER_BATCH", 32, 1, 512);
            bool isUntouched = Environment.GetEnvironmentVariable("FORWARDER_TOUCH") == "none";
            int touch = isUntouched ? NoTouch : Number("FORWARDER_TOUCH", 1, 0, 59);
            var options = new Options
            {
                CleanBatch = Number("FORWARDER_CLEAN", 32, 1, 256),
                Prefetch = Number("FORWARDER_PREFETCH", 1, 0, 1) == 1,
            };
            Allocation allocation = Allocation.Of(Environment.GetEnvironmentVariable("FORWARDER_ALLOCATE"), batch);
            var pool = new Pool(Number("FORWARDER_BUFFERS", 8192, 2112, 65536), kind == "ring");
            var first = new Device(arguments[0], pool, options);
            var second = new Device(arguments[1], pool, options);
            var packets = new Packet[batch];
            while (true)
            {
                Forward(first, second, pool, packets, touch, allocation);
                Forward(second, first, pool, packets, touch, allocation);
            }
        }

        private static void Forward(Device from, Device to, Pool pool, Packet[] packets, int touch, Allocation allocation)
        {
            int received = from.RxBatch(packets);
            if (received == 0)
            {
                // Buffers that were sent are all that an empty pool can get.
                if (pool.IsEmpty)
                {
                    to.CleanUp();
                }

                return;
            }

            allocation?.Place(packets, received);
            if (touch != NoTouch)
            {
                for (int n = 0; n < received; n++)
                {
                    pool.Touch(packets[n].Index, touch);
                }
            }

            // What finds no room is dropped, as waiting would only delay what comes next.
            for (int sent = to.TxBatch(packets, received); sent < received; sent++)
            {
                pool.Give(packets[sent].Index);
            }
        }

        private static int Number(string name, int otherwise, int low, int high)
        {
            string text = Environment.GetEnvironmentVariable(name);
            if (string.IsNullOrEmpty(text))
            {
                return otherwise;
            }

            bool isNumber = int.TryParse(text, NumberStyles.None, CultureInfo.InvariantCulture, out int value);
            if (!isNumber || value < low || value > high)
            {
                throw new ArgumentException(name + ": expected " + low + " to " + high + ", found " + text);
            }

            return value;
        }
    }
}
