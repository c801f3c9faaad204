create or replace function loom.profile_schema_set(p_request jsonb) returns jsonb
language plpgsql volatile security definer
set search_path = loom, pg_temp
set plan_cache_mode = force_generic_plan
as $$
declare
  v_caller loom.caller := loom._enter('profile_schema.set', p_request);
  v_org text := v_caller.org;
  v_namespace text := v_caller.namespace;
  v_schema jsonb;
  v_sha256 text;
  v_stored loom.profile_schema;
begin
  if coalesce(p_request -> 'json_schema', 'null') = 'null' then
    raise exception using errcode = 'LM001', message = 'The request is not valid.',
      detail = jsonb_build_object('field', 'json_schema', 'reason', 'is required')::text,
      hint = 'Correct the named field and send the request again.';
  end if;
  v_schema := loom._schema_check(p_request -> 'json_schema');
  v_sha256 := loom._schema_sha256(v_schema);
  insert into loom.profile_schema as stored
    (org, namespace, json_schema, schema_sha256, schema_rev, updated_at, updated_by)
  values (v_org, v_namespace, v_schema, v_sha256, 1, v_caller.called_at, v_caller.actor)
  on conflict (org, namespace) do update
    set json_schema = excluded.json_schema, schema_sha256 = excluded.schema_sha256,
      -- Other titles change nothing that is built. A clear has raised it as well, and left no hash.
      schema_rev = stored.schema_rev + (stored.schema_sha256 is distinct from excluded.schema_sha256)::integer,
      attempts = 0, wait_until = null, updated_at = excluded.updated_at, updated_by = excluded.updated_by
  returning * into v_stored;
  perform loom._audit(v_org, v_caller.actor, v_caller.called_at, 'profile_schema.set',
    jsonb_build_object('namespace', v_namespace, 'schema_sha256', v_sha256));
  if loom._namespace_due(v_stored, 'structured_profile', v_caller.called_at) then
    perform loom._ring();
  end if;
  return loom._schema_json(v_stored);
end
$$;
comment on function loom.profile_schema_set(jsonb) is
'Sets the shape in which the worker keeps the structured profiles of the namespace''s users, in place of the one before. Profiles of another shape are built anew; other titles, or another order of the properties, change nothing. Audited.

A schema is a JSON Schema object of at most 16 KiB as canonical JSON, with "type": "object" and 1 to 64 "properties", and where wanted a "title" and "additionalProperties": false. A property has a name of 1 to 200 characters (256 bytes), a "type", a "description", which the model reads, and where wanted a "title". By type it may have: string: "enum" (distinct strings), "pattern", "minLength", "maxLength" (up to 65536 characters); number and integer: "minimum", "maximum"; boolean: nothing more; array: "items" (which it must have: one of the other four types with what goes with it, a "description" where wanted) and "maxItems" (1 to 50, and 50 when left out). No other keyword is taken.

A full answer may hold 256 values at most, where a property counts one and an array its "maxItems", and may take 16384 tokens at most by this estimate: 32; for each key half its characters and four more; for each value half the characters of "maxLength" or of the longest in "enum", the lesser of the two, 48 for a string with neither, 12 for any other; an array "maxItems" times its item. Halves are rounded up.

A pattern has 1 to 200 characters, of a regular expression that PostgreSQL and RE2 both compile: plain characters and the dot; ^ and $; groups ( ) and (?: ) that are not empty, and |; after a character, class or group one of * + ? {m} {m,} {m,n} with bounds of at most 100, and a ? that makes it lazy; classes [ ] and [^ ] of characters, ranges and escapes, a bare - only first or last; the escapes \d \D \w \W \s \S \n \r \t \f \v, and \ before punctuation of ASCII, without which \ ^ $ . | ? * + ( ) [ ] { } do not stand for themselves. With its bounds written out it may not be too large.

Request: json_schema*.
Returns: found, json_schema, schema_sha256 (of the properties without titles), updated_by, updated_at.
Errors: LM001, LM003, LM302, LM405 with the path in the schema and the reason.';
