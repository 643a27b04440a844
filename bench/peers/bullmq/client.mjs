// A client process of BullMQ: it carries out the commands of internal/wire, one JSON
// object a line.
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { Queue, Worker } from 'bullmq';

const defaultQueue = 'default', asideQueue = 'aside', kind = 'noop';
const timeDigits = 19, numberStart = 20, numberDigits = 10, smallestPayload = 31;
const version = JSON.parse(readFileSync(new URL('./node_modules/bullmq/package.json', import.meta.url))).version;

// Node's clock for performance counts from its own start; this is the epoch's.
const clockStart = BigInt(Date.now()) * 1_000_000n - process.hrtime.bigint();
const now = () => clockStart + process.hrtime.bigint();
const sleep = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

let connection, settings, work;
const queues = new Map();

function queue(name) {
  if (!queues.has(name)) queues.set(name, new Queue(name, { connection }));
  return queues.get(name);
}

// open can come again: a process outlives what is stored.
async function open(order) {
  await Promise.all([...queues.values()].map((each) => each.close()));
  queues.clear();
  const [host, port] = order.address.split(':');
  connection = { host, port: Number(port), maxRetriesPerRequest: null };
  settings = order.settings;
}

function job(order, i, filling, at) {
  let time = at ?? now();
  const options = { removeOnComplete: !order.keep, removeOnFail: false };
  if (order.due) {
    time = BigInt(order.due) + BigInt(i) * BigInt(order.due_every);
    options.delay = Math.max(0, Math.ceil(Number(time - now()) / 1e6));
  }
  const number = order.first + i;
  if (order.unique) options.jobId = `unique-${number}`;
  options.attempts = 3;
  const text = `${String(time).padStart(timeDigits, '0')} ${String(number).padStart(numberDigits, '0')} ${filling}`;
  return { name: kind, data: text, opts: options };
}

const queueName = (order, i) => (order.aside ? asideQueue : order.queues > 0 ? `q${i % order.queues}` : defaultQueue);

async function produce(order) {
  const began = now(), filling = 'x'.repeat(Math.max(0, order.bytes - smallestPayload));
  const deadline = order.limit > 0 ? began + BigInt(order.limit) * 1_000_000n : undefined;
  const late = () => deadline !== undefined && now() > deadline;
  let done = 0;
  const add = async (i, at) => {
    const { name, data, opts } = job(order, i, filling, at);
    await queue(queueName(order, i)).add(name, data, opts);
    done++;
  };
  const producers = Math.max(1, order.goroutines);
  await Promise.all(Array.from({ length: producers }, async (_, worker) => {
    if (order.every > 0) {
      for (let i = worker; i < order.jobs && !late(); i += producers) {
        const at = BigInt(order.start) + BigInt(i) * BigInt(order.every);
        const wait = Number(at - now()) / 1e6;
        if (wait > 0) await sleep(wait);
        await add(i, at);
      }
      return;
    }
    const first = Math.floor(order.jobs * worker / producers), end = Math.floor(order.jobs * (worker + 1) / producers);
    if (order.batch > 0) {
      for (let i = first; i < end && !late(); i += order.batch) {
        const many = [];
        for (let k = i; k < Math.min(end, i + order.batch); k++) many.push(job(order, k, filling));
        await queue(queueName(order, i)).addBulk(many);
        done += many.length;
      }
      return;
    }
    for (let i = first; i < end && !late(); i++) await add(i);
  }));
  return { produced: { jobs: done, began: Number(began), ended: Number(now()) } };
}

async function startWork(order) {
  const started = now(), failed = new Set();
  work = { order, handled: 0, last: 0n, late: [], target: 0, workers: [] };
  const handle = async ({ data }) => {
    const start = now(), number = Number(data.slice(numberStart, numberStart + numberDigits));
    if (order.sleep > 0) await sleep(order.sleep / 1e6);
    if (order.fail_every > 0 && number % order.fail_every === 0 && !failed.has(number)) {
      failed.add(number);
      throw new Error('this attempt is meant to fail');
    }
    if (work.late.length < order.expect) work.late.push(Number(start - BigInt(data.slice(0, timeDigits))));
    work.handled++;
    work.last = now();
    if (work.handled === work.target) work.reached?.();
  };
  const names = order.queues > 0 ? Array.from({ length: order.queues }, (_, i) => `q${i}`) : [defaultQueue];
  for (const name of names) {
    for (let i = 0; i < (settings.servers ?? 1); i++) {
      work.workers.push(new Worker(name, handle, { connection, concurrency: settings.concurrency ?? 1 }));
    }
  }
  for (const worker of work.workers) worker.on('error', (error) => process.stderr.write(`${error.message}\n`));
  await Promise.all(work.workers.map((worker) => worker.waitUntilReady()));
  return { started: Number(started) };
}

async function awaitJobs(order) {
  work.target = order.jobs;
  if (work.handled < order.jobs) {
    let timer;
    await Promise.race([
      new Promise((resolve) => { work.reached = resolve; }),
      new Promise((resolve) => { timer = setTimeout(resolve, order.limit); }),
    ]);
    clearTimeout(timer);
  }
  const handled = { jobs: work.handled, last: Number(work.last) };
  if (order.late && work.late.length > 0) {
    const sorted = Float64Array.from(work.late).sort();
    const at = (q) => sorted[Math.floor(q * (sorted.length - 1))] / 1e6;
    handled.late = { min: at(0), p50: at(0.5), p99: at(0.99), p999: at(0.999), max: at(1) };
  }
  return { handled };
}

async function carryOut(command) {
  switch (command.op) {
    case 'open': await open(command.open); return {};
    case 'usage': return { usage: { allocations: 0, version } };
    case 'produce': return produce(command.produce);
    case 'work': return startWork(command.work);
    case 'await': return awaitJobs(command.await);
    case 'stop':
      await Promise.all(work.workers.map((worker) => worker.close()));
      return {};
    default: throw new Error(`${command.op} cannot be done`);
  }
}

process.on('SIGINT', () => {}); // the program that started it ends it
for await (const line of createInterface({ input: process.stdin })) {
  let reply;
  try {
    reply = await carryOut(JSON.parse(line));
  } catch (error) {
    reply = { error: error.message || String(error) };
  }
  process.stdout.write(`${JSON.stringify(reply)}\n`);
}
process.exit(0);
