import { request } from 'node:http';
import { expect, it } from 'vitest';
import { databaseFailure } from '../../../core/store/index.ts';
import { failureOf } from '../../../sandbox/extensions/http/failures.ts';
import { type Asked, servedKernel } from './served-kernel.ts';

it('W3 a full disk is 507 with one cure, whoever says so', () => {
  const full = {
    status: 507,
    json: { error: { code: 'disk_full', message: 'the disk is full', cure: { text: 'free some space and try again' } } },
  };
  const ofSqlite = Object.assign(new Error('database or disk is full'), { errcode: 13 });
  expect(failureOf(databaseFailure(ofSqlite, '/data/pith.db'))).toMatchObject(full);
  for (const code of ['ENOSPC', 'EDQUOT']) expect(failureOf(Object.assign(new Error('x'), { code }))).toMatchObject(full);
});

it('W3 a body in another encoding is refused before it is read', async () => {
  const served = await servedKernel();
  const send = (headers: Asked['headers']) => served.request('/sign-in', { method: 'POST', body: '{"code":"x"}', headers: { ...headers } });
  const json = { 'content-type': 'application/json' };
  expect(await send({ ...json, 'content-encoding': 'gzip' })).toMatchObject({
    status: 415,
    json: { error: { message: 'the body must not be compressed' } },
  });
  expect(await send({ 'content-type': 'application/json; charset=iso-8859-1' })).toMatchObject({
    status: 415,
    json: { error: { message: 'the body must be in UTF-8' } },
  });
  expect((await send({ 'content-type': 'application/json; charset="UTF-8"', 'content-encoding': 'identity' })).status).toBe(401);
});

it('W3 what fits no form of a body is said in plain words', async () => {
  const served = await servedKernel();
  const { status, json } = await served.request('/sign-in', { method: 'POST', json: { code: 'a', token: 'b' } });
  expect([status, json]).toMatchObject([
    400,
    { error: { message: "body: fits none of the accepted forms: 'token' is unknown, or 'code' is unknown" } },
  ]);
});

it.each(['Host', 'Authorization', 'Origin', 'Content-Type'])('W3 two headers %s are refused', async (name) => {
  const served = await servedKernel();
  const port = await served.port();
  const sent = ['Host', `127.0.0.1:${port}`, ...(name === 'Host' ? [] : [name, 'one']), name, 'two'];
  const status = await new Promise((resolve, reject) => {
    const asked = request({ host: '127.0.0.1', port, path: '/health', headers: sent, agent: false }, (answer) => {
      answer.resume();
      resolve(answer.statusCode);
    });
    asked.on('error', reject).end();
  });
  expect(status).toBe(400);
});
