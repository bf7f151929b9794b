// The server for editors, driven by Microsoft's own client for tests of debug adapters.
//
// FLUVIAL_DEBUG_SERVER is the command that serves; it prints `port N`, and ends with its input.
'use strict';

const assert = require('node:assert/strict');
const { spawn } = require('node:child_process');
const path = require('node:path');
const readline = require('node:readline');
const { test } = require('node:test');
const { DebugClient } = require('@vscode/debugadapter-testsupport');

const ROOT = path.resolve(__dirname, '../..');
const SERVE = process.env.FLUVIAL_DEBUG_SERVER
  ?? 'cargo run -q -p fluvial-debug --example serve_mock';
const FILE = '/mock/train.py';
const THREAD = { threadId: 1 };

/** Starts a server and a client of it, which both end with the test. */
async function connect(t, env = {}) {
  const server = spawn(SERVE, {
    cwd: ROOT, shell: true, env: { ...process.env, ...env }, stdio: ['pipe', 'pipe', 'inherit'],
  });
  const port = await new Promise((resolve, reject) => {
    server.once('exit', () => reject(new Error(`no server: ${SERVE}`)));
    readline.createInterface({ input: server.stdout }).once('line', (line) => {
      resolve(Number(line.replace('port ', '')));
    });
  });
  const client = new DebugClient('', '', 'fluvial');
  await client.start(port);
  t.after(async () => {
    await client.stop();
    server.stdin.end();
  });
  return client;
}

/** Goes through the beginning of a session; `configure` sets breakpoints on the way. */
async function begin(client, configure = async () => {}) {
  await client.initializeRequest();
  const initialized = client.waitForEvent('initialized');
  await client.attachRequest({ token: 'secret' });
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

async function topFrame(client) {
  const { body } = await client.stackTraceRequest({ ...THREAD, startFrame: 0, levels: 1 });
  return body.stackFrames[0];
}

async function variablesOf(client, scopeName) {
  const { id } = await topFrame(client);
  const { body: { scopes } } = await client.scopesRequest({ frameId: id });
  const scope = scopes.find(({ name }) => name === scopeName);
  const { body } = await client.variablesRequest({ variablesReference: scope.variablesReference });
  return { scope, variables: body.variables };
}

test('a breakpoint on a line is hit, under its condition', async (t) => {
  const client = await connect(t);
  await Promise.all([
    client.assertStoppedLocation('breakpoint', { path: FILE, line: 12 }),
    begin(client, async () => {
      const breakpoints = [{ line: 12, condition: 'step == 3' }, { line: 99 }];
      const { body } = await client.setBreakpointsRequest({ source: { path: FILE }, breakpoints });
      assert.deepEqual(body.breakpoints.map(({ verified }) => verified), [true, false]);
    }),
  ]);
  const { body } = await client.stackTraceRequest(THREAD);
  assert.deepEqual(body.stackFrames.map(({ name }) => name),
    ['%loss = mean(%a)', 'forward', 'step 3', 'train']);
});

test('the stop at NaN explains itself', async (t) => {
  const client = await connect(t, { FLUVIAL_MOCK_NAN: '2' });
  await Promise.all([
    client.assertStoppedLocation('exception', { path: FILE, line: 11 }),
    begin(client, () => client.setExceptionBreakpointsRequest({ filters: ['nan'] })),
  ]);
  const { body } = await client.send('exceptionInfo', THREAD);
  assert.equal(body.exceptionId, 'nan');
  assert.match(body.details.stackTrace, /nan=1/);
});

test('steps, forwards and backwards', async (t) => {
  const client = await connect(t);
  const breakpoints = [{ name: 'matmul' }];
  await Promise.all([
    client.waitForEvent('stopped'),
    begin(client, () => client.setFunctionBreakpointsRequest({ breakpoints })),
  ]);
  await client.setFunctionBreakpointsRequest({ breakpoints: [] });
  const lines = [];
  for (const command of ['next', 'next', 'stepBack', 'stepBack', 'stepIn', 'stepOut']) {
    assert.equal((await go(client, command)).reason, 'step');
    lines.push((await topFrame(client)).line);
  }
  assert.deepEqual(lines, [11, 12, 11, 10, 11, 12]);
  assert.equal((await go(client, 'goto', { ...THREAD, targetId: 8 })).reason, 'goto');
  assert.equal((await client.evaluateRequest({ expression: 'step' })).body.result, '7');
  await go(client, 'reverseContinue');
  assert.equal((await client.evaluateRequest({ expression: 'step' })).body.result, '0');
  await client.continueRequest(THREAD);
  assert.equal((await go(client, 'pause')).reason, 'pause');
});

test('values are seen, and edited', async (t) => {
  const client = await connect(t);
  await begin(client);
  await go(client, 'pause');
  const { scope, variables } = await variablesOf(client, 'Parameters');
  assert.match(variables[0].value, /^f32\[4, 3\] mean=/);
  const page = { variablesReference: variables[0].variablesReference, filter: 'indexed', start: 2, count: 1 };
  const rows = (await client.variablesRequest(page)).body.variables;
  assert.equal(rows[0].name, '[2]');
  const set = { variablesReference: scope.variablesReference, name: 'w', value: '0.25' };
  assert.match((await client.setVariableRequest(set)).body.value, /mean=0.25 sd=0 /);
  const again = (await client.variablesRequest(page)).body.variables;
  assert.equal(again[0].value, '[0.25, 0.25, 0.25]');
});

test('unknown requests, wrong tokens and a second client are refused', async (t) => {
  const client = await connect(t);
  await client.initializeRequest();
  await assert.rejects(client.attachRequest({ token: 'guess' }), /the token is wrong/);
  const initialized = client.waitForEvent('initialized');
  await client.attachRequest({ token: 'secret' });
  await initialized;
  await client.configurationDoneRequest();
  await assert.rejects(client.send('enableNetworking', {}), /no such request/);
  const port = client._socket.remotePort;
  const other = new DebugClient('', '', 'fluvial');
  await other.start(port);
  await other.initializeRequest();
  await assert.rejects(other.attachRequest({ token: 'secret' }), /another client/);
  await other.disconnectRequest();
  await other.stop();
});
