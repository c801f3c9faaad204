create or replace function loom._bind_check(p_request jsonb) returns void
language plpgsql immutable
as $$
declare
  v_loom_id uuid := loom._uuid(p_request, 'loomId');
  v_scope text := loom._choice(p_request, 'scope', '{interaction,agent,input,run}');
  v_fault text[];
begin
  perform loom._uuid(p_request, 'processId'), loom._uuid(p_request, 'interactionId');
  v_fault := case
    when v_loom_id is null and v_scope is null then '{scope,is required unless loomId is named}'
    when v_loom_id is not null and v_scope is not null then '{scope,does not go with loomId}'
    when v_loom_id is not null and loom._uuid(p_request, 'seedFromLoomId') is not null
      then '{seedFromLoomId,does not go with loomId}'
    when loom._identifier(p_request, 'scopeValue') is not null and v_scope is distinct from 'input'
      then '{scopeValue,goes with scope input alone}'
  end;
  if v_fault is not null then
    raise exception using errcode = 'LM001', message = 'The request is not valid.',
      detail = jsonb_build_object('field', v_fault[1], 'reason', v_fault[2])::text,
      hint = 'Name a scope, by which the loom is found or made, or the loomId of one that is there.';
  end if;
end
$$;
comment on function loom._bind_check(jsonb) is
  'LM001 unless a bind names a scope or a loom, and nothing that does not go with it.';
