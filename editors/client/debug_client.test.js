// The server for editors, driven by Microsoft's own client for tests of debug adapters, on a training that runs:
// python/tests/debugged_training.py. FLUVIAL_TEST_PYTHON is a Python that finds the package.
'use strict';

const assert = require('node:assert/strict');
const { spawn } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const readline = require('node:readline');
const { test } = require('node:test');
const { DebugClient } = require('@vscode/debugadapter-testsupport');

const ROOT = path.resolve(__dirname, '../..');
const PYTHON = process.env.FLUVIAL_TEST_PYTHON ?? path.join(ROOT, '.venv/bin/python');
const FILE = path.join(ROOT, 'python/tests/debugged_training.py');
const TEXT = fs.readFileSync(FILE, 'utf8').split('\n');
const lineOf = (text) => TEXT.findIndex((line) => line.includes(text)) + 1;
const [ERROR, SCALE, LOSS] = ['error = guess', 'scale = fl', 'loss = fl.mean'].map(lineOf);
const THREAD = { threadId: 1 };

/** Starts the training: its first line, and all of them when it has ended. */
function train(args, env = {}) {
  const child = spawn(PYTHON, [FILE, ...args], {
    env: { ...process.env, ...env }, stdio: ['ignore', 'pipe', 'inherit'],
  });
  const lines = [];
  const reader = readline.createInterface({ input: child.stdout });
  const first = new Promise((resolve, reject) => {
    reader.once('line', resolve);
    child.once('exit', () => reject(new Error(`${PYTHON} has ended`)));
  });
  reader.on('line', (line) => lines.push(line));
  const done = new Promise((resolve) => child.once('close', () => resolve(lines)));
  return { child, first, done };
}

/** A client of a training, with its address. */
async function connect(t, env) {
  const { child, first, done } = train(['0'], env);
  const client = new DebugClient('', '', 'fluvial');
  t.after(async () => {
    // A process that has ended does not answer any more.
    if (child.exitCode === null) await client.stop();
    child.kill('SIGKILL');
  });
  const [port, token] = (await first).split(' ');
  await client.start(Number(port));
  Object.assign(client, { port: Number(port), token, done });
  return client;
}

/** Goes through the beginning of a session; `configure` sets breakpoints on the way. */
async function begin(client, configure = async () => {}) {
  await client.initializeRequest();
  const initialized = client.waitForEvent('initialized');
  await client.attachRequest({ token: client.token });
  await initialized;
  await configure();
  await client.configurationDoneRequest();
}

/** Sends a request that lets the program go on, and waits for the stop behind it. */
async function go(client, command, args = THREAD) {
  const stopped = client.waitForEvent('stopped');
  await client.send(command, args);
  return (await stopped).body;
}

async function frames(client) {
  return (await client.stackTraceRequest(THREAD)).body.stackFrames;
}

async function value(client, expression) {
  return (await client.evaluateRequest({ expression, context: 'watch' })).body.result;
}

async function variablesOf(client, scopeName) {
  const [{ id }] = await frames(client);
  const { body: { scopes } } = await client.scopesRequest({ frameId: id });
  const scope = scopes.find(({ name }) => name === scopeName);
  const { body } = await client.variablesRequest({ variablesReference: scope.variablesReference });
  return { scope, variables: body.variables };
}

const breakOn = (client, ...breakpoints) => client.setBreakpointsRequest({ source: { path: FILE }, breakpoints });

test('a breakpoint on a line of the compiled loop is hit, under its condition', async (t) => {
  const client = await connect(t);
  const moved = client.waitForEvent('breakpoint');
  await Promise.all([
    client.assertStoppedLocation('breakpoint', { path: FILE, line: ERROR }),
    begin(client, () => breakOn(client, { line: ERROR - 1, condition: 'step == 9' })),
  ]);
  const { breakpoint } = (await moved).body;
  assert.deepEqual([breakpoint.verified, breakpoint.line], [true, ERROR]);
  const names = (await frames(client)).map(({ name }) => name).filter((name) => !name.includes('fused'));
  assert.deepEqual(names, ['error = sub(guess, y)', 'forward', 'step 9', 'epoch 1', 'train', 'called from']);
});

test('the stop at NaN explains itself', async (t) => {
  const client = await connect(t, { FAULT: '3' });
  await Promise.all([
    client.assertStoppedLocation('exception', { path: FILE, line: SCALE }),
    begin(client, () => client.setExceptionBreakpointsRequest({ filters: ['nan'] })),
  ]);
  const { body } = await client.send('exceptionInfo', THREAD);
  assert.equal(body.exceptionId, 'nan');
  assert.match(body.description, /`sqrt` gave NaN/);
  assert.match(body.details.stackTrace, /rest = -0.5\nOutput: scale = NaN/);
});

test('steps, forwards and backwards', async (t) => {
  const client = await connect(t);
  await Promise.all([client.waitForEvent('stopped'), begin(client, () => breakOn(client, { line: ERROR }))]);
  const lines = [];
  for (const command of ['next', 'stepBack', 'stepIn', 'stepBack', 'next']) {
    assert.equal((await go(client, command)).reason, 'step');
    lines.push((await frames(client))[0].line);
  }
  assert.deepEqual(lines, [LOSS, ERROR, LOSS, ERROR, LOSS]);
  const hash = 'hash(net.0.weight)';
  const hashes = [];
  for (let step = 1; step < 4; step += 1) {
    await go(client, 'continue');
    assert.equal(await value(client, 'step'), String(step));
    hashes.push(await value(client, hash));
  }
  for (const step of [2, 1]) {
    await go(client, 'reverseContinue');
    assert.deepEqual([await value(client, 'step'), await value(client, hash)], [String(step), hashes[step - 1]]);
  }
  const { body } = await client.send('gotoTargets', { source: { path: FILE }, line: ERROR });
  const target = body.targets.find(({ label }) => label === 'on to step 11');
  assert.equal((await go(client, 'goto', { ...THREAD, targetId: target.id })).reason, 'goto');
  assert.equal(await value(client, 'step'), '11');
});

test('a log point does not stop, and who disconnects changes nothing', async (t) => {
  const expected = await train([]).done;
  const client = await connect(t);
  const said = client.assertOutput('stdout', 'step 0 of epoch 0\nstep 1 of epoch 0\n', 10000);
  await Promise.all([
    client.waitForEvent('stopped'),
    begin(client, () => breakOn(client, { line: ERROR, logMessage: 'step {step} of epoch {epoch}' },
      { line: LOSS, hitCondition: '6' })),
  ]);
  await said;
  assert.equal(await value(client, 'step'), '5');
  await client.disconnectRequest();
  assert.deepEqual((await client.done).slice(1), expected);
});

test('values are seen, and edited', async (t) => {
  const client = await connect(t);
  await Promise.all([client.waitForEvent('stopped'), begin(client, () => breakOn(client, { line: ERROR }))]);
  const { variables } = await variablesOf(client, 'Parameters');
  const weight = variables.find(({ name }) => name === 'net.0.weight');
  assert.match(weight.value, /^f32\[8, 4\] mean=/);
  const { scope } = await variablesOf(client, 'Inputs');
  await client.setVariableRequest({ variablesReference: scope.variablesReference, name: 'guess', value: 'y + 1' });
  await go(client, 'next');
  assert.equal(await value(client, 'round(sum(error))'), '5');
  const page = { variablesReference: weight.variablesReference, filter: 'indexed', start: 2, count: 1 };
  await assert.rejects(client.variablesRequest(page), /the program has gone on/);
});

test('unknown requests, wrong tokens and a second client are refused', async (t) => {
  const client = await connect(t);
  await client.initializeRequest();
  await assert.rejects(client.attachRequest({ token: 'guess' }), /the token is wrong/);
  const initialized = client.waitForEvent('initialized');
  await client.attachRequest({ token: client.token });
  await initialized;
  await assert.rejects(client.send('enableNetworking', {}), /no such request/);
  const other = new DebugClient('', '', 'fluvial');
  await other.start(client.port);
  await other.initializeRequest();
  await assert.rejects(other.attachRequest({ token: client.token }), /another client/);
  await other.disconnectRequest();
  await other.stop();
});
