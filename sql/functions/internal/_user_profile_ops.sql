create or replace function loom._user_profile_ops(p_ops jsonb, p_field text) returns jsonb
language plpgsql immutable parallel safe
as $$
declare
  v_op jsonb;
  v_checked jsonb := '[]';
begin
  if jsonb_typeof(p_ops) <> 'array' or jsonb_array_length(p_ops) > 1000 then
    raise exception using errcode = 'LM001', message = 'The request is not valid.',
      detail = jsonb_build_object('field', p_field, 'reason', 'must be a list of at most 1000 objects')::text,
      hint = 'Correct the named field and send the request again.';
  end if;
  for v_op in select jsonb_array_elements(p_ops) loop
    v_op := loom._check_fields(v_op, '{op,key,value}');
    if loom._choice(v_op, 'op', '{add,update,forget}') is null then
      perform loom._text(v_op, 'op', true);
    end if;
    perform loom._text(v_op, 'key', true);
    perform loom._identifier(v_op, 'key', 80);
    perform loom._bounded_text(v_op, 'value', 2000);
    v_checked := v_checked || v_op;
  end loop;
  return v_checked;
end
$$;
comment on function loom._user_profile_ops(jsonb, text) is
  'A list of operations on facts, each add, update or forget with a key of at most 80 and a value of at most 2000 characters. LM001, LM406.';
