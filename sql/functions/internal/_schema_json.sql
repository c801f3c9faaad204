create or replace function loom._schema_json(p_stored loom.profile_schema) returns jsonb
language plpgsql immutable
as $$
declare
  v_found boolean := p_stored.json_schema is not null;  -- a cleared one leaves its row
begin
  return jsonb_build_object('found', v_found, 'json_schema', p_stored.json_schema,
    'schema_sha256', p_stored.schema_sha256,
    'updated_by', case when v_found then p_stored.updated_by end,
    'updated_at', case when v_found then loom._ts(p_stored.updated_at) end);
end
$$;
comment on function loom._schema_json(loom.profile_schema) is
  'A profile schema as the wire shows it; all null but found where there is none.';
