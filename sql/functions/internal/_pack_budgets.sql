create or replace function loom._pack_budgets(p_request jsonb) returns jsonb
language plpgsql immutable parallel safe
as $$
declare
  v_budgets jsonb := coalesce(nullif(p_request -> 'section_token_budgets', 'null'), '{}');
  v_name text;
begin
  if jsonb_typeof(v_budgets) <> 'object'
    or not array(select jsonb_object_keys(v_budgets)) <@ loom._pack_sections() then
    raise exception using errcode = 'LM001', message = 'The request is not valid.',
      detail = jsonb_build_object('field', 'section_token_budgets', 'reason',
        'must give tokens by section: ' || array_to_string(loom._pack_sections(), ', '))::text,
      hint = 'Correct the named field and send the request again.';
  end if;
  foreach v_name in array loom._pack_sections() loop
    perform loom._integer(v_budgets, v_name, 0, 200000);
  end loop;
  return jsonb_strip_nulls(v_budgets);
end
$$;
comment on function loom._pack_budgets(jsonb) is
  'The most tokens of each section that the request gives a budget of its own. LM001.';
