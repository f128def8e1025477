// The OpenAI client for Node.js talks to a router in front of a pair.
//
// usage: node check_openai.mjs BASE_URL MODEL      (in a directory where `openai` is installed)

import assert from "node:assert/strict";

import OpenAI from "openai";

const [baseURL, model] = process.argv.slice(2);
const client = new OpenAI({ baseURL, apiKey: "key", maxRetries: 0, timeout: 20_000 });
const ask = { model, max_tokens: 8, messages: [{ role: "user", content: "how full is it?" }] };

const answer = await client.chat.completions.create(ask);
assert(answer.choices[0].message.content);
assert.equal(answer.usage.completion_tokens, 8);

let text = "";
for await (const chunk of await client.chat.completions.create({ ...ask, stream: true })) {
  assert(chunk.choices.length, "the usage that nobody asked for was left in");
  text += chunk.choices[0].delta.content ?? "";
}
assert(text);

let usage;
const stream_options = { include_usage: true };
for await (const chunk of await client.chat.completions.create({ ...ask, stream: true, stream_options })) {
  usage = chunk.usage ?? usage;
}
assert.equal(usage.completion_tokens, 8);

const tools = [{ type: "function", function: { name: "look", parameters: { type: "object" } } }];
assert((await client.chat.completions.create({ ...ask, tools })).choices.length);

await assert.rejects(client.chat.completions.create({ ...ask, n: 2 }), OpenAI.BadRequestError);
await assert.rejects(client.embeddings.create({ model, input: "x" }), { status: 501 });
await assert.rejects(client.files.list(), OpenAI.NotFoundError);

const left = await client.chat.completions.create({ ...ask, max_tokens: 4000, stream: true });
for await (const _ of left) break;

console.log("openai for node: answers, streams, tools, typed errors, a client that leaves");
